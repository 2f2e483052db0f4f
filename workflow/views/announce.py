"""What `make` says: before it measures how long that will take, and at the end what there is to see, in ten lines."""

import csv
import logging
import sys
from collections import Counter
from pathlib import Path

import yaml

from kernels.errors import InputError
from workflow import configuration
from workflow.measure import paths, plan
from workflow.step import logged
from workflow.store import measurements


def before(config: dict) -> list[str]:
    """How long measuring takes, by the archive that config names; nothing where there is no GPU."""
    if plan.simulating(config):
        return []
    wanted, jobs, names = plan.table_cells(config, *plan.PAPER_TABLES), plan.jobs(config), paths.batches(config)
    files = paths.to_make(jobs, names, wanted)
    alone = [cell for cell in wanted if paths.cell_file(*cell) in files]
    mine = [job for job in jobs if paths.job_file(names[0], *job) in files]
    together = [cell for job in mine for cell in jobs[job]]
    lines = [
        f"{len(names) * len(mine)} jobs (batch {', '.join(names)}), which measure {len(together)} cells in a batch, "
        f"and {len(alone)} cells alone are needed; existing results are reused."
    ]
    archived = Path("results/archive", config["archive"], "timings.csv")
    if not archived.exists():
        return lines
    rows = measurements.pooled(measurements.load([archived]))
    cells = {"/".join(cell) for cell in [*together, *alone]}
    rows = rows[measurements.cells(rows).isin(cells)]
    # A cell's time is that of its runs in one batch: the mean over its batches.
    times = (rows["seconds"].fillna(0) + rows["limit_s"].fillna(0)).groupby([rows[key] for key in measurements.BATCH])
    minutes = times.sum().groupby(measurements.CELL).mean().sum() / 60
    cards = sorted({row.device for row in rows.itertuples() if plan.on_gpu(row.algorithm, row.variant)})
    return [
        *lines,
        f"The runs of one batch and of these cells took {minutes:.0f} minutes on {', '.join(cards)} ({archived}).",
        "Downloading, compiling, warming up and checking take time besides. Stop with Ctrl-C: finished runs are kept.",
    ]


def after(config: dict) -> list[str]:
    """What came of the claims, and where everything lies. Raises InputError where nothing was made yet."""
    claims = Path("results/claims.csv")
    if not claims.exists():
        raise InputError(f"{claims}: no such file: run snakemake --cores all first")
    with open(claims, newline="") as file:
        rows = list(csv.DictReader(file))
    verdicts = Counter({row["claim"]: row["claim's verdict"] for row in rows}.values())
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    lines = [
        f"{verdicts.total()} claims were judged: {said}.",
        *{row["source"]: None for row in rows},
        "Claims:      results/claims.md",
        f"Tables:      {_files('results', plan.PAPER_TABLES, '.md')}, and as .csv and .html",
        f"Figures:     {_files('figures', ('figure5', 'figure6'), '.svg')}, and as .pdf and .png",
        "Statistics:  results/summary.md",
    ]
    if plan.simulating(config):
        with open("results/simulated.csv", newline="") as file:
            checked = {(row["algorithm"], row["variant"], row["dataset"]) for row in csv.DictReader(file)}
        lines += [
            f"Checks:      results/simulated.md, of {len(checked)} cells; no GPU was used, and nothing was timed",
            "Measure on the CPU:  snakemake --cores all results/cells/dijkstra/scipy/nyc.csv",
        ]
    return [
        *lines,
        "Extensions:  snakemake --cores all extensions",
        "One page:    snakemake --cores 1 made --report report.html",
    ]


def _files(folder: str, names, suffix: str) -> str:
    return ", ".join(f"{folder}/{name}{suffix}" for name in names)


def main(when: str, path: Path = Path("config.yaml")) -> None:
    configuration.check_keys(path)
    config = yaml.safe_load(path.read_text())
    configuration.check(config)
    for line in {"before": before, "after": after}[when](config):
        logging.info("%s", line)


if __name__ == "__main__":
    with logged():
        main(sys.argv[1])
