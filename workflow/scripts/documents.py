"""Fill the generated parts of README.md and docs/, and write the archives' checksums."""

from pathlib import Path

from workflow import release
from workflow.step import logged
from workflow.views import readme

with logged(snakemake.log):
    readme.write(readme.generated(snakemake.params.archives, snakemake.config), Path())
    release.write_sums()
