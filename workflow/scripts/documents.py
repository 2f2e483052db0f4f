"""Fill the generated parts of README.md and docs/, and write the archives' checksums."""

from pathlib import Path

from workflow.publish import readme, release
from workflow.step import logged

with logged(snakemake.log):
    readme.write(readme.generated(snakemake.params.archives, snakemake.config), Path())
    release.write_sums()
