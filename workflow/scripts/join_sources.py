"""Join the searches from each of many sources."""

from pathlib import Path

from workflow.measure.sources import SWEEP
from workflow.step import logged
from workflow.store.measurements import schema

with logged(snakemake.log):
    schema(SWEEP.columns).write(schema(SWEEP.columns).text(snakemake.input), Path(snakemake.output[0]))
