"""Join the searches from many sources of all datasets."""

from pathlib import Path

from workflow.step import logged
from workflow.views.many_sources_table import SCHEMA

with logged(snakemake.log):
    SCHEMA.write(SCHEMA.text(snakemake.input), Path(snakemake.output[0]))
