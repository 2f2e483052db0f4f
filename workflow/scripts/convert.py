"""Convert a dataset's raw file to the paper's text form, or generate it."""

from pathlib import Path

from workflow.data.convert import convert
from workflow.step import logged

with logged(snakemake.log):
    raw = Path(snakemake.input[0]) if snakemake.input else None
    convert(snakemake.wildcards.dataset, snakemake.params.entry, raw, Path(snakemake.output[0]))
