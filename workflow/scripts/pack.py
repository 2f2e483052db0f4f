"""Pack a dataset as CSR arrays."""

from pathlib import Path

from workflow.data.pack import pack
from workflow.step import logged

with logged(snakemake.log):
    source = Path(snakemake.input[0]) if snakemake.input else None
    pack(snakemake.wildcards.dataset, snakemake.params.entry, source, Path(snakemake.output[0]))
