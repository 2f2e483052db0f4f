"""Draw the pictures of docs/travel-times.md."""

import logging
from pathlib import Path

from workflow.step import logged
from workflow.views.extensions.travel_times import blocks, run

with logged(snakemake.log):
    page = Path(snakemake.input[0])
    logging.info("%s", run(blocks(page)[:-1], page.parent))
