"""Pack the text form of a dataset as CSR arrays."""

from pathlib import Path

from workflow.data.pack import pack
from workflow.step import logged

with logged(snakemake.log):
    pack(snakemake.wildcards.dataset, snakemake.params.entry, Path(snakemake.input[0]), Path(snakemake.output[0]))
