"""Measure a variant on a packed graph, alone."""

from pathlib import Path

from kernels.registry import find
from workflow.measure.measure import measure
from workflow.measure.provenance import StepContext
from workflow.plan import conditions
from workflow.step import logged

with logged(snakemake.log):
    names = snakemake.wildcards
    variant = find(names.algorithm, names.variant)
    protocol = conditions.protocol_of(snakemake.config, variant.algorithm, variant.name, names.folder == "simulated")
    measure(variant, Path(snakemake.input[0]), protocol, Path(snakemake.output.csv), StepContext.of(snakemake))
