"""Draw the pictures of a page of docs/ by the code on the page."""

import logging
from pathlib import Path

from workflow.step import logged
from workflow.views.extensions.travel_times import blocks, run

with logged(snakemake.log):
    page, folder = Path(snakemake.input[0]), Path(snakemake.params.folder)
    logging.info("%s", run(blocks(page)[: snakemake.params.blocks], folder))
    for picture in map(Path, snakemake.output):
        (folder / picture.name).replace(picture)
