"""Download a raw file, or check the one that is there."""

from pathlib import Path

from workflow.data.download import download
from workflow.step import logged

with logged(snakemake.log):
    params, config = snakemake.params, snakemake.config
    download(params.dataset, params.entry, config["archives"], config["download"], Path(snakemake.output[0]))
