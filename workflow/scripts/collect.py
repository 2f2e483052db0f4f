"""Join all batches and cells."""

from pathlib import Path

from workflow.step import logged
from workflow.store import collect

with logged(snakemake.log):
    collect.write(*collect.read(list(map(Path, snakemake.input))), *map(Path, snakemake.output))
