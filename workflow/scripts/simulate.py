"""Check variants in numba's CUDA simulator, all in one process."""

from pathlib import Path

from workflow.measure.measure import Setting
from workflow.measure.simulate import simulate
from workflow.plan import conditions, experiments
from workflow.step import logged

with logged(snakemake.log):
    config = snakemake.config
    protocols = {
        cell: conditions.protocol_of(config, *cell[:2], simulated=True) for cell in experiments.simulated_cells(config)
    }
    graphs, results, out = Path("resources/graphs"), Path("results/simulated"), Path(snakemake.output[0])
    simulate(protocols, graphs, results, out, Setting.of(snakemake))
