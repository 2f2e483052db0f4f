"""Measure all variants that are compared on a graph, in rounds, on one card."""

from pathlib import Path

from workflow.measure.job import measure_job
from workflow.measure.provenance import StepContext
from workflow.plan import conditions, experiments
from workflow.step import logged

with logged(snakemake.log):
    config, names = snakemake.config, snakemake.wildcards
    cells = experiments.jobs(config)[names.problem, names.dataset]
    protocols = {cell.registered: conditions.protocol_of(config, cell.algorithm, cell.variant) for cell in cells}
    graph, out = Path(snakemake.input[0]), Path(snakemake.output.csv)
    setting, keep_going = StepContext.of(snakemake), config["protocol"]["keep_going"]
    measure_job(protocols, graph, names.batch, out, setting, keep_going=keep_going)
