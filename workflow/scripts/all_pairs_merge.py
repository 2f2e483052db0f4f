"""Join the parts of all pairs of a graph."""

from pathlib import Path

from workflow.measure.all_pairs import merge
from workflow.step import logged

with logged(snakemake.log):
    merge(list(map(Path, snakemake.input)), Path(snakemake.output.parquet))
