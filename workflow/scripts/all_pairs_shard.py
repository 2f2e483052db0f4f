"""Search from a part of a graph's vertices."""

from pathlib import Path

from workflow.measure.all_pairs import Part, measure_part
from workflow.measure.provenance import StepContext
from workflow.step import logged

with logged(snakemake.log):
    names, params = snakemake.wildcards, snakemake.params
    part = Part(int(names.shard), int(names.shards), params.sample, params.block)
    graph, out = Path(snakemake.input.graph), Path(snakemake.output[0])
    measure_part(graph, part, out, StepContext.of(snakemake))
