"""Join all batches and cells."""

from pathlib import Path

from workflow.step import logged
from workflow.store import collect
from workflow.store.measurements import schema

with logged(snakemake.log):
    schema().write(collect.read(list(map(Path, snakemake.input))), Path(snakemake.output[0]))
