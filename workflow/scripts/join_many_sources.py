"""Join the searches from many sources of all datasets."""

from pathlib import Path

from workflow.step import logged
from workflow.store.benchmarks import MANY_SOURCES

with logged(snakemake.log):
    MANY_SOURCES.write(MANY_SOURCES.text(snakemake.input), Path(snakemake.output[0]))
