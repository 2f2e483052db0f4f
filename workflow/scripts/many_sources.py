"""Measure searches from many sources of a graph at once."""

from pathlib import Path

from workflow.measure.many_sources import measure_many_sources
from workflow.measure.provenance import StepContext
from workflow.step import logged

with logged(snakemake.log):
    options = snakemake.config["sweeps"]["many_sources"]
    graph, out = Path(snakemake.input.graph), Path(snakemake.output[0])
    measure_many_sources(graph, options, snakemake.params.block, out, StepContext.of(snakemake))
