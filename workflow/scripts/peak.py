"""Measure the peak of relaxations of this card."""

from pathlib import Path

from workflow.measure.peak import measure_peak
from workflow.step import logged

with logged(snakemake.log):
    measure_peak(snakemake.params.vertices, Path(snakemake.output[0]), snakemake.config["commit"])
