"""Measure a sweep on a packed graph."""

from pathlib import Path

from workflow.measure import plan
from workflow.measure.measure import Setting
from workflow.measure.measure_sweep import SWEEPS, measure_sweep
from workflow.step import logged

with logged(snakemake.log):
    config, sweep = snakemake.config, SWEEPS[snakemake.params.sweep]
    options = config["sweeps"][sweep.name.removesuffix("_sweep")]
    graph, out = Path(snakemake.input[0]), Path(snakemake.output[0])
    measure_sweep(sweep, graph, options, plan.protocol_of(config), out, Setting.of(snakemake))
