"""Tell launch-bound from kernel-bound cells: results/launch_overhead.csv and .md.

A plain variant is compared with its CUDA-graph variant, which runs the same kernels without launching each from the
host.
"""

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import batches, verdicts
from workflow.store import measurements
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import RATIOS, digits

TITLE = "What launching costs: each variant beside the same kernels in a CUDA graph"
PLAIN = [variant.plain for variant in VARIANTS.values() if variant.cuda_graph]
NOT_MEASURED, ALONE = "no CUDA graph measured", "measured alone, so no ratio"
HALF = 0.5  # of the plain variant's time: a cell is launch-bound where its CUDA-graph variant takes less
BOUNDS = {"launch-bound": (-np.inf, HALF), "kernel-bound": (HALF, np.inf)}
NOTES = [
    "Why it matters: launching and waiting is the host's work and the driver's, which a faster card does not shorten. "
    "Where it takes most of the time, a speed-up of one kernel over another that the paper saw need not be seen here.",
    "Plain and graph: median of kernels_s, the launches that find distances; of several batches the median of their "
    "medians. Plain waits after every launch, as in the paper; graph replays the same launches, and its time is an "
    "upper bound of the kernels' own: a graph too pays a little for each.",
    "Launches counts Bellman-Ford's last one too, for predecessors, which is not in these times.",
    f"Launching and waiting: 1 - graph / plain, a lower bound of its share; graph / plain is {RATIOS}",
    f"A cell is launch-bound where the {verdicts.INTERVAL} of graph / plain over batches is below one half, "
    f"kernel-bound where it is above. Fewer than {verdicts.MIN_BATCHES} batches have no interval.",
    "Dijkstra's naive variant is a single launch: it has no CUDA-graph variant, and nothing to save.",
]


def _plain(key: str) -> str:
    return VARIANTS[key].plain


def compare(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each measured plain cell that can have a CUDA-graph variant.

    column, dataset, device, launches, plain_s, graph_s (NaN where that was not measured on that device), plain_us and
    graph_us (microseconds a launch), share (of the plain time that launching and waiting takes; NaN where no job
    measured both), batches (of that share), bound.
    cells: as long_table.cells gives them, of rows; these as measurements.load gives them.
    """
    plain = cells[cells["column"].isin(PLAIN)]
    graph = cells.loc[~cells["column"].isin(PLAIN), ["column", "dataset", "device", "kernels"]]
    graph["column"] = graph["column"].map(_plain)
    facts = plain.merge(graph, on=["column", "dataset", "device"], how="left", suffixes=("", "_graph"))
    facts = facts.rename(columns={"kernels": "plain_s", "kernels_graph": "graph_s"})
    facts["plain_us"] = 1e6 * facts["plain_s"] / facts["launches"]
    facts["graph_us"] = 1e6 * facts["graph_s"] / facts["launches"]
    pooled = measurements.pooled(rows)
    kernels = batches.medians(pooled.assign(seconds=pooled["kernels_s"]))
    parts = [
        batches.speed_up(kernels, plain, f"{plain}_graph", dataset)  # how many times longer the graph took
        for plain, dataset in zip(facts["column"], facts["dataset"], strict=True)
    ]
    facts["share"] = [1 - part.value if part else np.nan for part in parts]
    facts["batches"] = [part.batches if part else 0 for part in parts]
    facts["bound"] = [
        verdicts.decide(part, BOUNDS) if part else NOT_MEASURED if np.isnan(graph) else ALONE
        for part, graph in zip(parts, facts["graph_s"], strict=True)
    ]
    names = ["column", "dataset", "device", "launches", "plain_s", "graph_s", "plain_us", "graph_us", "share"]
    return facts[[*names, "batches", "bound"]]


def to_text(facts: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    def shown(name):
        return ["-" if np.isnan(number) else digits(number) for number in facts[name]]

    shares = ["-" if np.isnan(share) else f"{round(100 * share):d} %" for share in facts["share"]]
    return pd.DataFrame(
        {
            "Variant": long_table.names(facts),
            "Dataset": [f"{name}.txt{' †' if name in substitutes else ''}" for name in facts["dataset"]],
            "Launches": [f"{count:,.0f}" for count in facts["launches"]],
            "Plain (s)": shown("plain_s"),
            "Graph (s)": shown("graph_s"),
            "Plain (µs a launch)": shown("plain_us"),
            "Graph (µs a launch)": shown("graph_us"),
            "Launching and waiting": shares,
            "Batches": [str(count or "-") for count in facts["batches"]],
            "Bound": facts["bound"],
        },
        dtype=str,
    )


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table; rows: as measurements.load gives them."""
    cells = long_table.cells(rows, context.datasets)
    facts, substitutes = compare(cells, rows), measurements.substitutes(rows)
    kinds = cells["column"].map(_plain) + " " + cells["dataset"]
    shown = cells[kinds.isin(facts["column"] + " " + facts["dataset"])]
    text = to_text(facts, substitutes)
    notes = [*NOTES, *long_table.origin(rows, shown, context.source)]
    facts = facts.assign(source=context.source, substitute=[substitutes.get(name, "") for name in facts["dataset"]])
    return long_table.files("launch_overhead", TITLE, text, facts, notes, list(text.columns[2:-1]))
