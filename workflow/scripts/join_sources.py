"""Join the searches from each of many sources."""

from pathlib import Path

from workflow.step import logged
from workflow.store.columns import SWEEPS
from workflow.store.measurements import schema

with logged(snakemake.log):
    kind = schema(SWEEPS["sources"])
    kind.write(kind.text(snakemake.input), Path(snakemake.output[0]))
