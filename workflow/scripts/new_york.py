"""Draw the pictures of New York in docs/travel-times.md. If all pairs were searched here, archive their grid first."""

from pathlib import Path

from kernels.graph import Graph
from workflow.data import download
from workflow.step import logged
from workflow.views.extensions import new_york

with logged(snakemake.log):
    kept, found = Path(snakemake.params.kept), snakemake.input
    if found:
        entry = {"format": "dimacs", **snakemake.config["datasets"][new_york.DATASET]["coordinates"]}
        download.verify_raw(Path(found.coordinates), f"{new_york.DATASET}.coordinates", entry)
        grid = new_york.mean_time_grid(Path(found.rows), Path(found.coordinates), Graph.load(found.graph))
        grid.write(kept)
    new_york.draw_maps(new_york.Grid.read(kept), Path("docs"))
