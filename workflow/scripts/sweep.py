"""Measure a sweep on a packed graph."""

from pathlib import Path

from workflow.measure.provenance import StepContext
from workflow.measure.sweeps import measure_sweep
from workflow.plan import conditions
from workflow.step import logged

with logged(snakemake.log):
    config, sweep = snakemake.config, snakemake.params.sweep
    options = config["sweeps"][sweep.removesuffix("_sweep")]
    graph, out = Path(snakemake.input[0]), Path(snakemake.output[0])
    measure_sweep(sweep, graph, options, conditions.protocol_of(config), out, StepContext.of(snakemake))
