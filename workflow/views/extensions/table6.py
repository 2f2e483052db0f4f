"""Write Table 6, our fastest variants beside the paper's, SParry's, CPU libraries and other programs: CSV and Markdown.

A row is a program on a dataset. The times of other programs are cited from workflow/paper/peers.csv.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS
from workflow.judge import batches, verdicts
from workflow.store import measurements, paper, tables
from workflow.store.tables import Datasets, Table
from workflow.views import long_table, render
from workflow.views.context import Context
from workflow.views.render import CROSS, RATIOS, digits, estimated, medians_of, time_and_range, time_text

NAME = "table6"
OURS, LIBRARY = tables.DEFINITIONS[NAME]["baseline"], tables.heads(NAME)["dijkstra/scipy"]
OPTIONAL = ("Ours, prepared",)  # heads that are shown only if they were measured: such variants fit few graphs
SOURCES = {"sssp": "one source", "apsp": "every source"}
PEERS = "workflow/paper/peers.csv"
SPARRY = "https://github.com/qriosa/SParry"
ENDS = ["median", "min", "max"]
TIMES = [f"{region}{of} {end}" for of in ("", " any source") for region in ("kernels", "call") for end in ENDS]
SAID = [
    *("dataset", "who", "program", "column", "on card", "status", *TIMES[:6], "prepare", "factor", "low", "high"),
    *("ratio batches", "batches", "repeats", *TIMES[6:], "sources", "rate", "rate of", "n", "file"),
]


def heads() -> dict[str, str]:
    """Return the head of each algorithm/variant."""
    return tables.heads(NAME)


def columns() -> list[str]:
    """Return the heads: ours, then the others."""
    return list(dict.fromkeys([OURS, *heads().values()]))


def on_card() -> set[str]:
    """Return the heads of GPU variants, which are compared by their kernels."""
    return {head for key, head in heads().items() if VARIANTS[key].on_gpu}


def shown(datasets: Datasets, rows: pd.DataFrame) -> Datasets:
    """Return the datasets that were measured, of families those on which ours was; if none was, all of no family.

    So no cited time, which may be of a substitute, stands alone beside measured datasets.
    """
    who = measurements.variants(rows).map(heads())
    measured, by_ours = set(rows["dataset"][who.notna()]), set(rows["dataset"][who == OURS])
    kept = {name: entry for name, entry in datasets.items() if name in (by_ours if entry.get("family") else measured)}
    return kept or tables.of_family("", datasets)


def regions(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return rows with the time of a region as `seconds`, by region.

    "kernels" finds distances and predecessors; "call" copies too; "total" prepares too (rows with a recorded
    preparation only).
    """
    total = rows.assign(seconds=rows["seconds"] + measurements.preparation(rows))
    return {
        "kernels": rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]),
        "call": rows,
        "total": total[total["seconds"].notna()],
    }


def _own_region(cells: pd.DataFrame) -> pd.Series:
    """Return the region that a variant is compared by: a GPU's kernels, a CPU's whole call."""
    return cells["column"].map({key: "kernels" if variant.on_gpu else "call" for key, variant in VARIANTS.items()})


def _fastest(table: Table, rows: pd.DataFrame, of_region: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the fastest variant of each head on each dataset, indexed by ("dataset", "who")."""
    times = [measurements.summarise(of_region[name])[ENDS].add_prefix(f"{name} ") for name in ("kernels", "call")]
    cells = measurements.summarise(rows).drop(columns=ENDS).join(times).reset_index()
    cells["who"] = cells["column"].map(heads())
    own = np.where(_own_region(cells) == "kernels", cells["kernels median"], cells["call median"])
    order = cells.assign(untimed=cells["status"] != "ok", own=own).sort_values(["untimed", "own"], kind="stable")
    every = pd.MultiIndex.from_product([table.datasets, columns()], names=["dataset", "who"])
    fastest = order.drop_duplicates(["who", "dataset"]).set_index(["dataset", "who"]).reindex(every)
    fastest["status"] = fastest["status"].fillna("no measurement")
    return fastest.drop(columns=["untimed", "own"])


def _estimates(
    fastest: pd.DataFrame, of_batches: dict[str, pd.DataFrame], regions: pd.Series
) -> list[verdicts.Estimate | None]:
    """Return for each cell how many times longer than ours it takes; None if no job measured both."""
    estimates = []
    for (dataset, who), region in regions.items():
        ours, other = fastest.loc[(dataset, OURS)], fastest.loc[(dataset, who)]
        both = who != OURS and ours["status"] == other["status"] == "ok"
        pair = ours["column"], other["column"], dataset
        estimates.append(batches.speed_up(of_batches[region], *pair) if both else None)
    return estimates


def many(searches: pd.DataFrame) -> pd.DataFrame:
    """Return the median, min and max over sources of each one's median, as in TIMES, and the number of `sources`."""
    over_sources = {}
    of_region = regions(searches)
    for name in ("kernels", "call"):
        of_source = of_region[name].groupby(["dataset", "source"])["seconds"].median().groupby("dataset")
        over_sources |= {f"{name} any source {end}": of_source.agg(end) for end in ENDS} | {"sources": of_source.size()}
    return pd.DataFrame(over_sources)


def cited(datasets: list[str]) -> pd.DataFrame:
    """Return a row for each cited program and dataset, with the columns SAID."""
    lines = []
    times = paper.peers()
    for (program, dataset), group in times[times["dataset"].isin(datasets)].groupby(["program", "dataset"], sort=False):
        first = group.iloc[0]
        gpu = first["host"] == paper.PEERS_CARD
        line = {"dataset": dataset, "who": program, "program": f"{program} (by others)", "status": "ok", "on card": gpu}
        line |= {"n": "; ".join(dict.fromkeys(group["n"])), "file": first["file"]}
        for source, seconds in zip(group["source"], group["seconds"], strict=True):
            line[f"{'kernels' if gpu else 'call'}{' any source' if source == 'any' else ''} median"] = seconds
        lines.append(line)
    return pd.DataFrame(lines, columns=SAID)


def rate(column: str, seconds: float, vertices: float, arcs: float) -> tuple[float, str]:
    """Return how many per second, and of what: relaxations of Floyd-Warshall, else arcs."""
    if VARIANTS[column].algorithm == "floyd_warshall":
        return vertices**3 / seconds, "relaxations"
    return arcs * (vertices if VARIANTS[column].problem == "apsp" else 1) / seconds, "arcs"


def name(cell: pd.Series) -> str:
    """Return the title of a cell's variant; a CPU's with its cores."""
    variant = VARIANTS[cell["column"]]
    return variant.title if variant.on_gpu else f"{variant.title} on {render.cores(cell)}"


def rows_to_show(table: Table, rows: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of compare() that were measured here or are to be."""
    of_region, sizes, of_many = regions(rows), table.sizes(rows), many(searches)
    lines = _fastest(table, rows, of_region)
    of_batches = {region: batches.medians(part) for region, part in of_region.items()}
    for column, region in (("estimate", _own_region(lines)), ("total estimate", pd.Series("total", lines.index))):
        lines[column] = pd.Series(_estimates(lines, of_batches, region), lines.index, object)
    for column, end in (("factor", "value"), ("low", "low"), ("high", "high"), ("ratio batches", "batches")):
        lines[column] = [getattr(estimate, end) if estimate else np.nan for estimate in lines["estimate"]]
    lines = lines.reset_index().join(of_many, on="dataset")
    known, ours = lines["column"].notna(), lines["who"] == OURS
    lines["program"] = [
        f"{cell['who']}: {name(cell)}" if there else cell["who"]
        for there, (_, cell) in zip(known, lines.iterrows(), strict=True)
    ]
    lines["on card"] = lines["who"].isin(on_card())
    lines["n"] = [render.runs(cell) if cell["status"] == "ok" else "" for _, cell in lines.iterrows()]
    searched = lines["column"].isin(measurements.variants(searches)) | ~known
    lines.loc[~(ours & searched), list(of_many)] = np.nan
    for i, cell in lines[ours & (lines["status"] == "ok")].iterrows():
        of_ours = rate(cell["column"], cell["kernels median"], *sizes.loc[cell["dataset"]])
        lines.loc[i, "rate"], lines.loc[i, "rate of"] = of_ours
    return lines[known | ~lines["who"].isin(OPTIONAL)]


def compare(table: Table, rows: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each program and dataset, with the columns SAID. Take rows from Table.select.

    Rows of measured programs have those of measurements.summarise too, "estimate" (how many times longer than ours it
    takes, a verdicts.Estimate or None) and "total estimate", that of whole calls with preparation. searches are those
    of measurements.load_sweep("sources", …).
    """
    both = render.stacked(rows_to_show(table, rows, searches), cited(table.datasets))
    both = both.reindex(columns=list(dict.fromkeys([*both, *SAID])))
    return both.sort_values(
        "dataset", key=lambda names: names.map(table.datasets.index), kind="stable", ignore_index=True
    )


def to_text(lines: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    """Return the table as text for readers."""
    said = {
        "Dataset": lambda line: (
            measurements.text_file(line["dataset"]) + (" †" if line["dataset"] in substitutes else "")
        ),
        "Program": lambda line: line["program"],
        "Kernels": lambda line: _time(line, "kernels"),
        "Whole call": lambda line: _time(line, "call"),
        "Preparation": lambda line: "-" if pd.isna(line["prepare"]) else time_text(line["prepare"]),
        CROSS: _factor,
        "Kernels, any source": lambda line: _time(line, "kernels any source"),
        "Whole call, any source": lambda line: _time(line, "call any source"),
        "Runs": lambda line: line["n"] or "-",
    }
    rows = [[text(line) for text in said.values()] for _, line in lines.iterrows()]
    return pd.DataFrame(rows, columns=list(said), dtype=str)


def _time(line: pd.Series, of: str) -> str:
    if line["status"] != "ok" and of == ("kernels" if line["on card"] else "call"):
        return render.status_text(line)
    median, least, most = (line[f"{of} {end}"] for end in ENDS)
    if pd.isna(median) or (of == "kernels" and not line["on card"]):
        return "-"
    return time_and_range(median, least, most)


def _factor(line: pd.Series) -> str:
    if isinstance(line["estimate"], verdicts.Estimate):
        return estimated(line["estimate"])
    return "-" if pd.isna(line["factor"]) else digits(line["factor"])


def beside_library(lines: pd.DataFrame, rows: pd.DataFrame, tolerance: float) -> list[str]:
    """Return a sentence for each dataset: how others' GPU variants compare with the CPU library, by whole calls."""
    others = [who for who in columns() if who in on_card() and who not in (OURS, *OPTIONAL)]
    of_batches, said = batches.medians(rows), []
    for dataset, group in lines[lines["status"] == "ok"].groupby("dataset", sort=False):
        cells, clauses = group.set_index("who"), []
        for who in [who for who in others if {who, LIBRARY} <= {*cells.index}]:
            cell, library = cells.loc[who], cells.loc[LIBRARY]
            if speed_up := batches.speed_up(of_batches, cell["column"], library["column"], dataset):
                clauses.append(render.compared(who, name(library), speed_up, tolerance))
        if clauses:
            said.append(f"{dataset}.txt, by whole calls: {'; '.join(clauses)}.")
    return said


def losses(lines: pd.DataFrame, tolerance: float) -> list[str]:
    """Return a sentence for each dataset on the programs that ours is not faster than."""
    said = []
    for dataset, group in lines[lines["status"] == "ok"].groupby("dataset", sort=False):
        others = group[~group["who"].isin([OURS, *OPTIONAL])]
        clauses = [
            clause
            for _, ours in group[group["who"] == OURS].iterrows()
            for _, line in others.iterrows()
            for clause in _measured_loss(line, tolerance) + _cited_loss(line, ours, tolerance)
        ]
        if clauses:
            said.append(f"{dataset}.txt: {'; '.join(clauses)}.")
    return said


def _measured_loss(line: pd.Series, tolerance: float) -> list[str]:
    """Return how ours compares with a measured program by ratios within jobs; nothing if ours is faster.

    Ours must be faster with preparation too.
    """
    for estimate, of in ((line["estimate"], ""), (line["total estimate"], ", by whole calls with preparation")):
        if isinstance(estimate, verdicts.Estimate) and not _wins(estimate, tolerance):
            return [render.compared("ours", line["program"], estimate, tolerance) + of]
    return []


def _wins(estimate: verdicts.Estimate, tolerance: float) -> bool:
    """Return whether ours is faster; of too few batches for a verdict, in each by more than the tolerance."""
    word = verdicts.decide(estimate, verdicts.directions(tolerance))
    return word == "faster" or (word == verdicts.FEW and estimate.low > 1 + tolerance)


def _cited_loss(line: pd.Series, ours: pd.Series, tolerance: float) -> list[str]:
    """Return how ours compares with a cited program, by the times of two hosts; nothing if ours takes less."""
    if not isinstance(line["file"], str):
        return []
    region, what = ("kernels", "kernels") if line["on card"] else ("call", "whole call")
    said: dict[str, list[str]] = {}
    for of in ("", " any source"):
        theirs, mine, least, most = line[f"{region}{of} median"], *(ours[f"{region}{of} {end}"] for end in ENDS)
        source = SOURCES["apsp"] if VARIANTS[ours["column"]].problem == "apsp" else "any source" if of else "source 0"
        own_time = time_text(mine)
        if abs(theirs / mine - 1) < tolerance:
            words = f"no difference between our {what} and {line['program']}"
        elif mine <= theirs <= most and not of:  # the range of any source is over sources
            words = f"{line['program']} is within the range of our {what}"
            own_time = f"{time_text(least)} to {time_text(most)}"
        elif theirs < mine:
            words = f"{line['program']} is faster than our {what}"
        else:
            continue
        said.setdefault(words, []).append(f"{own_time} against {time_text(theirs)} from {source}")
    return [f"{words} ({', '.join(numbers)})" for words, numbers in said.items()]


def who_notes() -> list[str]:
    """Return a sentence on each head: which variants it stands for."""
    said = []
    for who in columns():
        of_problem: dict[str, list[str]] = {}
        for key in (key for key, head in heads().items() if head == who):
            of_problem.setdefault(SOURCES[VARIANTS[key].problem], []).append(long_table.label(key))
        several = any(len(names) > 1 for names in of_problem.values())
        parts = (f"From {sources}: {'; '.join(names)}." for sources, names in of_problem.items())
        said.append(f"{who} is {'the fastest of these' if several else 'one variant'}. {' '.join(parts)}")
    said.append(
        f"Block per source: kernels that follow the pseudocode of SParry ({SPARRY}). One block searches from one "
        "source."
    )
    return said


def own_notes(lines: pd.DataFrame, rows: pd.DataFrame, tolerance: float) -> list[str]:
    """Return the sentences that stand under this table alone."""
    measured = lines[(lines["status"] == "ok") & lines["column"].notna()]
    drawn = [name for name in paper.GENERATED if name in set(lines["dataset"])]
    others = [
        f"Times of programs by others on generated graphs ({', '.join(drawn)}) are of other graphs of the same "
        "families and sizes, with weights from the same range; GAP's generator made those of rmat20 and uniform20. "
        "ADDS did not end on rmat20."
    ]
    return [
        "Gnutella graphs are searched from every source, all other graphs from source 0 and from any source.",
        "Kernels: kernels_s + predecessors_s, the time to find distances and predecessors. The graph is on the card "
        "before, and the result stays there (Blocked, Staged copies it to the host). Whole call: the paper's timed "
        "region, with copies; for a CPU library, the library's call. Preparation, in the latest batch: laying out the "
        "graph before the call and, for GPU programs, copying it to the card (Tiled with Shared Memory copies it in "
        "the call); - if it was not recorded.",
        f"Times: {medians_of('these')}",
        f"{CROSS}: how many times as long as ours the program takes, {RATIOS} Below 1, ours is slower. A GPU program "
        "is compared by kernels, a CPU program by whole calls.",
        *([render.ALONE] if len(measured) and not measured["batches"].any() else []),
        *who_notes(),
        f"Any source, ours: {_number_of_sources(lines)} random vertices with several searches each, measured alone. "
        "Median and range are over the vertices' medians.",
        "By others: programs of other authors, measured by us outside this workflow, GPU programs on an NVIDIA H200, "
        "CPU programs on 16 cores of its host. They find distances only. Except as said below, the graphs are those of "
        f"our times (docs/data.md). {PEERS} has the date, file and conditions of each time. Runs: from source 0, then "
        "from any source.",
        f"Their times have no {CROSS}, since they were not measured beside ours. If ours is not faster, a sentence "
        "below has both times, ours first, from two hosts. No difference: the time is within "
        f"{tolerance:.0%} of ours.",
        *(others if drawn else []),
        *(f"{program}: {text}." for program, text in paper.programs().items() if program in set(lines["who"])),
        *losses(lines, tolerance),
        *beside_library(lines, rows, tolerance),
    ]


def _number_of_sources(lines: pd.DataFrame) -> str:
    counts = sorted({f"{count:.0f}" for count in lines["sources"].dropna()}, key=int)
    return " to ".join(dict.fromkeys([counts[0], counts[-1]])) if counts else "the"


def files(
    datasets: Datasets, rows: pd.DataFrame, searches: pd.DataFrame, source: str, tolerance: float
) -> dict[str, str]:
    """Return the table's files by suffix."""
    table = tables.define(NAME, shown(datasets, rows))
    rows = table.select(rows)
    used = pd.concat([rows, searches])
    measurements.require_one_graph(used)
    lines, substitutes = compare(table, rows, searches), measurements.substitutes(rows)
    labels = {key: f"{who} ({VARIANTS[key].title})" for key, who in heads().items()}
    notes = [
        *own_notes(lines, rows, tolerance),
        *measurements.origin(rows, source, labels),
        *measurements.run(used),
    ]
    facts = lines[SAID].join(table.sizes(rows), on="dataset")
    facts = facts.assign(substitute=[substitutes.get(name, "") for name in facts["dataset"]], source=source)
    text = to_text(lines, substitutes)
    return render.table_files(table.heading, text, facts, notes, text.columns[2:-1])


def render_table6(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table."""
    searches = measurements.load_sweep("sources", context.paths("sources"))
    made = files(context.datasets, rows, searches, context.source, context.tolerance)
    return {NAME + suffix: text for suffix, text in made.items()}
