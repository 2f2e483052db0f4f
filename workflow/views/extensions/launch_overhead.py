"""Tell launch-bound from kernel-bound cells: results/launch_overhead.csv and .md.

A plain variant is compared with its CUDA-graph variant, in which the host does not launch each kernel.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import batches, verdicts
from workflow.store import measurements
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import RATIOS, or_dash

TITLE = "What launching costs: each variant beside the same kernels in a CUDA graph"
PLAIN = [variant.plain for variant in VARIANTS.values() if variant.cuda_graph]
NOT_MEASURED, ALONE = "no CUDA graph measured", "measured alone, so no ratio"
BOUNDS = {"launch-bound": (-np.inf, 0.5), "kernel-bound": (0.5, np.inf)}  # regions of graph / plain
FACTS = [
    *("column", "dataset", "device", "launches", "plain_s", "graph_s", "plain_us", "graph_us", "share", "batches"),
    "bound",
]
NOTES = [
    "Launching and waiting are work of the host and the driver, and a faster card does not shorten them. If they take "
    "most of the time, a speed-up of one kernel over another that the paper saw may not appear here.",
    "Plain and graph: the median of kernels_s, the time of the launches that find distances; if there are several "
    "batches, the median of their medians. Plain waits after every launch, as in the paper. Graph replays the same "
    "launches. Its time is an upper bound of the time of the kernels alone, since a graph too needs a little time for "
    "each launch.",
    "Launches includes Bellman-Ford's last launch, which finds predecessors and is not in these times.",
    f"Launching and waiting: 1 - graph / plain, a lower bound of their share. graph / plain is {RATIOS}",
    f"A cell is launch-bound if the {verdicts.INTERVAL} of graph / plain over batches lies below one half, and "
    f"kernel-bound if it lies above. Fewer than {verdicts.MIN_BATCHES} batches have no interval.",
    "Dijkstra's naive variant has a single launch, so it has no CUDA-graph variant.",
]


def _plain(key: str) -> str:
    return VARIANTS[key].plain


def compare(cells: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row with FACTS for each plain cell; cells: long_table.cells_with_times of the rows.

    "share" is the part of the plain time that launching and waiting takes; NaN if no job measured both variants.
    """
    plain = cells[cells["column"].isin(PLAIN)]
    graph = cells.loc[~cells["column"].isin(PLAIN), ["column", "dataset", "device", "kernels"]]
    graph = graph.assign(column=graph["column"].map(_plain)).rename(columns={"kernels": "graph_s"})
    facts = plain.rename(columns={"kernels": "plain_s"}).merge(graph, on=["column", "dataset", "device"], how="left")
    rows = measurements.pooled(rows)
    medians = batches.medians(rows.assign(seconds=rows["kernels_s"]))
    ratios = [
        batches.speed_up(medians, plain, f"{plain}_graph", dataset)  # graph / plain
        for plain, dataset in zip(facts["column"], facts["dataset"], strict=True)
    ]
    without_ratio = facts["graph_s"].isna().map({True: NOT_MEASURED, False: ALONE})
    return facts.assign(
        plain_us=1e6 * facts["plain_s"] / facts["launches"],
        graph_us=1e6 * facts["graph_s"] / facts["launches"],
        share=[1 - ratio.value if ratio else np.nan for ratio in ratios],
        batches=[ratio.batches if ratio else 0 for ratio in ratios],
        bound=[
            verdicts.decide(ratio, BOUNDS) if ratio else why for ratio, why in zip(ratios, without_ratio, strict=True)
        ],
    )[FACTS]


def to_text(facts: pd.DataFrame, substitutes: Mapping[str, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Variant": long_table.names(facts),
            "Dataset": [f"{name}.txt{' †' if name in substitutes else ''}" for name in facts["dataset"]],
            "Launches": [f"{count:,.0f}" for count in facts["launches"]],
            "Plain (s)": facts["plain_s"].map(or_dash),
            "Graph (s)": facts["graph_s"].map(or_dash),
            "Plain (µs a launch)": facts["plain_us"].map(or_dash),
            "Graph (µs a launch)": facts["graph_us"].map(or_dash),
            "Launching and waiting": [or_dash(100 * share, "{:.0f} %".format) for share in facts["share"]],
            "Batches": [str(count or "-") for count in facts["batches"]],
            "Bound": facts["bound"],
        },
        dtype=str,
    )


def render_launch_overhead(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table."""
    cells = long_table.cells_with_times(rows, context.datasets)
    facts, substitutes = compare(cells, rows), measurements.substitutes(rows)
    plain = pd.MultiIndex.from_arrays([cells["column"].map(_plain), cells["dataset"]])
    compared = cells[plain.isin(pd.MultiIndex.from_frame(facts[["column", "dataset"]]))]
    text = to_text(facts, substitutes)
    notes = [*NOTES, *long_table.origin(rows, compared, context.source)]
    facts = facts.assign(source=context.source, substitute=[substitutes.get(name, "") for name in facts["dataset"]])
    return long_table.files("launch_overhead", TITLE, text, facts, notes, list(text.columns[2:-1]))
