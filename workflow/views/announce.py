"""Print the messages of `make`: how long measuring will take, and at the end where the results are, in ten lines."""

import logging
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import yaml

from kernels.errors import InputError
from workflow.plan import conditions, configuration, experiments, result_paths
from workflow.step import logged
from workflow.store import measurements


def before(config: dict) -> list[str]:
    """Say what will be measured and how long that took for the archive; nothing without a GPU."""
    if conditions.why_simulated(config):
        return []
    wanted, jobs, names = (
        experiments.table_cells(config, *experiments.PAPER_TABLES),
        experiments.jobs(config),
        result_paths.batches(config),
    )
    files = result_paths.to_make(jobs, names, wanted)
    alone = [cell for cell in wanted if result_paths.cell_file(*cell) in files]
    mine = [job for job in jobs if result_paths.job_file(names[0], *job) in files]
    together = [cell for job in mine for cell in jobs[job]]
    lines = [
        f"{len(names) * len(mine)} jobs (batch {', '.join(names)}), which measure {len(together)} cells in a batch, "
        f"and {len(alone)} cells alone are needed; existing results are reused."
    ]
    archived = result_paths.archives(config)[0]
    if not (files := measurements.files(archived)):
        return lines
    rows = measurements.pooled(measurements.load(files))
    rows = rows[measurements.cell_keys(rows).isin({"/".join(cell) for cell in [*together, *alone]})]
    cards = sorted(rows["device"][rows["driver"] != ""].unique())
    return [
        *lines,
        f"The runs of one batch and of these cells took {_minutes(rows):.0f} minutes on {', '.join(cards)} "
        f"({archived}).",
        "Downloading, compiling, warming up and checking take time besides. Stop with Ctrl-C: finished runs are kept.",
    ]


def _minutes(rows: pd.DataFrame) -> float:
    """Return the sum over cells of the time of the runs in a batch, which is the mean over batches."""
    seconds = rows["seconds"].fillna(0) + rows["limit_s"].fillna(0)
    of_batches = seconds.groupby([rows[key] for key in measurements.BATCH]).sum()
    return of_batches.groupby(measurements.CELL).mean().sum() / 60


def after(config: dict) -> list[str]:
    """Count the verdicts and name the results; raise InputError if there are none yet."""
    claims = Path("results/claims.csv")
    if not claims.exists():
        raise InputError(f"{claims}: no such file: run snakemake --cores all first")
    rows = pd.read_csv(claims)
    verdicts = Counter(rows.groupby("claim", sort=False)["claim's verdict"].last())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    lines = [
        f"{verdicts.total()} claims were judged: {counts}.",
        *rows["source"].unique(),
        "Claims:      results/claims.md",
        f"Tables:      {_files('results', experiments.PAPER_TABLES, '.md')}, and as .csv and .html",
        f"Figures:     {_files('figures', ('figure5', 'figure6'), '.svg')}, and as .pdf and .png",
        "Statistics:  results/summary.md",
    ]
    if conditions.why_simulated(config):
        checked = pd.read_csv("results/simulated.csv").drop_duplicates(measurements.CELL)
        lines += [
            f"Checks:      results/simulated.md, of {len(checked)} cells; no GPU was used, and nothing was timed",
            "Measure on the CPU:  snakemake --cores all results/cells/dijkstra/scipy/nyc.csv",
        ]
    return [
        *lines,
        "Extensions:  snakemake --cores all extensions",
        "One page:    snakemake --cores 1 made --report report.html",
    ]


def _files(folder: str, names: Iterable[str], suffix: str) -> str:
    return ", ".join(f"{folder}/{name}{suffix}" for name in names)


def main(when: str, path: Path = Path("config.yaml")) -> None:
    configuration.check_keys(path)
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    configuration.check_config(config)
    for line in {"before": before, "after": after}[when](config):
        logging.info("%s", line)


if __name__ == "__main__":
    with logged():
        main(sys.argv[1])
