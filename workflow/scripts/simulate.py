"""Check variants in numba's CUDA simulator, all in one process."""

from pathlib import Path

from workflow.measure import plan
from workflow.measure.measure import Setting
from workflow.measure.simulate import simulate
from workflow.step import logged
from workflow.store.measurements import schema

with logged(snakemake.log):
    config = snakemake.config
    protocols = {cell: plan.protocol_of(config, *cell[:2], simulated=True) for cell in plan.simulated_cells(config)}
    if checked := snakemake.input.cells:
        table = schema(simulated=True)
        table.write(table.text(checked), Path(snakemake.output[0]))
    else:
        simulate(protocols, Path("resources/graphs"), Path(snakemake.output[0]), Setting.of(snakemake))
