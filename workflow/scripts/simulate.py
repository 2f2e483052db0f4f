"""Check variants in numba's CUDA simulator, all in one process."""

from pathlib import Path

from workflow.measure.provenance import StepContext
from workflow.measure.simulate import simulate
from workflow.plan import conditions, experiments
from workflow.step import logged
from workflow.store.measurements import schema

with logged(snakemake.log):
    config = snakemake.config
    protocols = {
        cell: conditions.protocol_of(config, *cell[:2], simulated=True) for cell in experiments.simulated_cells(config)
    }
    if checked := snakemake.input.cells:
        table = schema(simulated=True)
        table.write(table.text(checked), Path(snakemake.output[0]))
    else:
        simulate(protocols, Path("resources/graphs"), Path(snakemake.output[0]), StepContext.of(snakemake))
