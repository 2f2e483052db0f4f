"""Prepare a contraction hierarchy of a packed graph."""

from pathlib import Path

from workflow.data.prepare import prepare
from workflow.step import logged

with logged(snakemake.log):
    prepare(Path(snakemake.input[0]), Path(snakemake.output[0]))
