"""Keep the measurements in results/archive/."""

from pathlib import Path

from workflow.publish.archive import archive
from workflow.step import logged

with logged(snakemake.log):
    archive(Path("results"), snakemake.config)
