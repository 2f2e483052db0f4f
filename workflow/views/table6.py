"""Write Table 6, our fastest variants beside the paper's, SParry's, CPU libraries and other programs: CSV and Markdown.

A row is a program on a dataset. The times of other programs are cited: workflow/paper/peers.csv.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from kernels.registry import VARIANTS, shown_in
from workflow.judge import batches, verdicts
from workflow.store import measurements, paper
from workflow.views import long_table, render, tables
from workflow.views.context import Context
from workflow.views.documents import time_text
from workflow.views.paper_tables import heading
from workflow.views.render import CROSS, RATIOS, digits, estimated, medians_of
from workflow.views.tables import Datasets, Table

NAME, OURS, LIBRARY = "table6", "Ours", "CPU library"
OPTIONAL = ("Ours, prepared",)  # heads that are shown only where they were measured: such variants fit few graphs
SOURCES = {"sssp": "one source", "apsp": "every source"}
PEERS = "workflow/paper/peers.csv"
SPARRY = "https://github.com/qriosa/SParry"
# What a time contains: finding distances and predecessors; with copies; with what is laid out before the clock too.
REGIONS = ("kernels", "call", "total")
ENDS = ("median", "min", "max")
TIMES = [f"{region}{of} {end}" for of in ("", " any source") for region in ("kernels", "call") for end in ENDS]
SAID = (
    *("dataset", "who", "program", "column", "on card", "status", *TIMES[:6], "prepare", "factor", "low", "high"),
    *("ratio batches", "batches", "repeats", *TIMES[6:], "sources", "rate", "rate of", "n", "file"),
)


def heads(place: str = NAME) -> dict[str, str]:
    """The head of each algorithm/variant; of those with one head the fastest on a dataset is shown."""
    return {variant.key: variant.shown[place] for variant in shown_in(place)}


def columns(place: str = NAME) -> list[str]:
    """The heads: ours, then the others as the registry has them."""
    return list(dict.fromkeys([OURS, *heads(place).values()]))


def on_card(place: str = NAME) -> set[str]:
    """The heads of variants that run on a card, which are compared by their kernels."""
    return {head for key, head in heads(place).items() if VARIANTS[key].on_gpu}


def problems(table: Table) -> dict[str, str]:
    """By dataset, the problem that the table shows it with."""
    return {dataset: problem for problem, names in table.rows.items() for dataset in names}


def shown(datasets: Datasets, rows: pd.DataFrame) -> Datasets:
    """The datasets that the table shows: those that were measured, of families by a variant of ours.

    Where none was, those of no family. So no cited time, which may be of a substitute, stands alone beside measured
    datasets.
    """
    who = measurements.variants(rows).map(heads())
    measured, by_ours = set(rows["dataset"][who.notna()]), set(rows["dataset"][who == OURS])
    found = {name: entry for name, entry in datasets.items() if name in (by_ours if entry.get("family") else measured)}
    return found or tables.of_family("", datasets)


def select(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 6's cells, of all rows measured."""
    problem = problems(table)
    chosen = measurements.select(rows, list(heads()), list(problem))
    return chosen[chosen["problem"] == chosen["dataset"].map(problem)]


def regions(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By region, the rows with its time as `seconds`; of "total" those whose preparation was recorded."""
    total = rows.assign(seconds=rows["seconds"] + measurements.preparation(rows))
    return {
        "kernels": rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]),
        "call": rows,
        "total": total[total["seconds"].notna()],
    }


def own(cells: pd.DataFrame) -> pd.Series:
    """The region that a variant is compared by: a card's kernels, a processor's whole call."""
    return cells["column"].map({key: "kernels" if variant.on_gpu else "call" for key, variant in VARIANTS.items()})


def facts(table: Table, rows: pd.DataFrame, place: str = NAME) -> pd.DataFrame:
    """A row for each of columns() on each dataset, indexed by ("dataset", "who"); of OPTIONAL where one was measured.

    The columns of measurements.summarise without the times; "column", the fastest variant of the head, NaN where
    none was measured; of REGIONS' kernels and call median, min and max (s) as "kernels median" …; "estimate", how many
    times longer than ours (a verdicts.Estimate), and "total estimate", that of whole calls with preparation; None
    where no job measured both. rows: as select gives them.
    """
    of_region = regions(rows)
    times = [measurements.summarise(of_region[name])[list(ENDS)].add_prefix(f"{name} ") for name in ("kernels", "call")]
    cells = measurements.summarise(rows).drop(columns=[*ENDS]).join(times).reset_index()
    cells["who"] = cells["column"].map(heads(place))
    cells["own"] = np.where(own(cells) == "kernels", cells["kernels median"], cells["call median"])
    order = cells.assign(untimed=cells["status"] != "ok").sort_values(["untimed", "own"], kind="stable")
    fastest = order.drop_duplicates(["who", "dataset"]).set_index(["dataset", "who"])
    every = pd.MultiIndex.from_product([table.datasets, columns(place)], names=["dataset", "who"])
    found = fastest.drop(columns=["untimed", "own"]).reindex(every)
    found["status"] = found["status"].fillna("no measurement")
    of_batches = {name: batches.medians(part) for name, part in of_region.items()}
    for name, region in (("estimate", own(found)), ("total estimate", pd.Series("total", found.index))):
        estimates = [_beside_ours(found, of_batches, dataset, who, region) for (dataset, who), region in region.items()]
        found[name] = pd.Series(estimates, found.index, object)
    return found[found["column"].notna() | ~found.index.get_level_values("who").isin(OPTIONAL)]


def _beside_ours(
    found: pd.DataFrame, of_batches: dict[str, pd.DataFrame], dataset: str, who: str, region: str
) -> verdicts.Estimate | None:
    ours, other = found.loc[(dataset, OURS)], found.loc[(dataset, who)]
    if who == OURS or not ours["status"] == other["status"] == "ok":
        return None
    return batches.speed_up(of_batches[region], ours["column"], other["column"], dataset)


def many(searches: pd.DataFrame) -> pd.DataFrame:
    """Indexed by dataset: over the sources of each one's median (s), of kernels and call, median, min and max.

    Columns as those of TIMES; sources: their number.
    """
    found = {}
    for name, rows in list(regions(searches).items())[:2]:
        of_source = rows.groupby(["dataset", "source"])["seconds"].median().groupby("dataset")
        found |= {f"{name} any source {end}": of_source.agg(end) for end in ENDS} | {"sources": of_source.size()}
    return pd.DataFrame(found)


def cited(datasets: list[str]) -> pd.DataFrame:
    """A row a cited program and dataset, with those of SAID's columns that there are: "program" is also its "who"."""
    lines = []
    times = paper.peers()
    for (program, dataset), group in times[times["dataset"].isin(datasets)].groupby(["program", "dataset"], sort=False):
        first = group.iloc[0]
        on_card = first["host"] == paper.PEERS_CARD
        line = {"dataset": dataset, "who": program, "program": f"{program} (cited)", "status": "ok", "on card": on_card}
        line |= {"n": "; ".join(dict.fromkeys(group["n"])), "file": first["file"]}
        for _, time in group.iterrows():
            of = " any source" if time["source"] == "any" else ""
            line[f"{'kernels' if on_card else 'call'}{of} median"] = time["seconds"]
        lines.append(line)
    return pd.DataFrame(lines, columns=list(SAID))


def rate(column: str, seconds: float, vertices: float, arcs: float) -> tuple[float, str]:
    """Per second, and of what: relaxations of Floyd-Warshall, else arcs."""
    if VARIANTS[column].algorithm == "floyd_warshall":
        return vertices**3 / seconds, "relaxations"
    return arcs * (vertices if VARIANTS[column].problem == "apsp" else 1) / seconds, "arcs"


def labels() -> dict[str, str]:
    """What each variant is called under the table: Ours (Near-Far)."""
    return {key: f"{who} ({VARIANTS[key].title})" for key, who in heads().items()}


def name(cell: pd.Series) -> str:
    """What the variant of a cell is called; a CPU's with its cores."""
    variant = VARIANTS[cell["column"]]
    return variant.title if variant.on_gpu else f"{variant.title} on {render.cores(cell)}"


def compare(table: Table, rows: pd.DataFrame, searches: pd.DataFrame, place: str = NAME) -> pd.DataFrame:
    """A row a program and dataset: SAID, and what facts says of the measured ones.

    rows: as select gives them; searches: as sources.load does, of our variant for one source.
    """
    found, graphs = facts(table, rows, place).reset_index(), tables.counts(table, rows)
    known = found["column"].notna()
    found["program"] = [
        f"{cell['who']}: {name(cell)}" if ok else cell["who"]
        for ok, (_, cell) in zip(known, found.iterrows(), strict=True)
    ]
    found["on card"] = found["who"].isin(on_card(place))
    for column, end in (("factor", "value"), ("low", "low"), ("high", "high"), ("ratio batches", "batches")):
        found[column] = [getattr(estimate, end) if estimate else np.nan for estimate in found["estimate"]]
    found["n"] = [render.runs(cell) if cell["status"] == "ok" else "" for _, cell in found.iterrows()]
    searched = set(measurements.variants(searches))
    of_many = many(searches)
    found = found.join(of_many, on="dataset")
    others = (found["who"] != OURS) | (found["column"].notna() & ~found["column"].isin(searched))
    found.loc[others, list(of_many)] = np.nan
    for i, cell in found[(found["who"] == OURS) & (found["status"] == "ok")].iterrows():
        of_ours = rate(cell["column"], cell["kernels median"], *graphs.loc[cell["dataset"]])
        found.loc[i, "rate"], found.loc[i, "rate of"] = of_ours
    both = pd.concat([part for part in (found, cited(table.datasets)) if len(part)] or [found]).reindex(
        columns=list(dict.fromkeys([*found.columns, *SAID]))
    )
    order = both["dataset"].map({dataset: i for i, dataset in enumerate(table.datasets)})
    return both.assign(order=order).sort_values("order", kind="stable", ignore_index=True).drop(columns="order")


def to_text(lines: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    """The table for readers, all cells text; lines: as compare gives them."""
    shown = [
        {
            "Dataset": f"{line['dataset']}.txt{' †' if line['dataset'] in substitutes else ''}",
            "Program": line["program"],
            "Kernels": _time(line, "kernels"),
            "Whole call": _time(line, "call"),
            "Preparation": "-" if pd.isna(line["prepare"]) else time_text(line["prepare"]),
            CROSS: _factor(line),
            "Kernels, any source": _time(line, "kernels any source"),
            "Whole call, any source": _time(line, "call any source"),
            "Runs": line["n"] or "-",
        }
        for _, line in lines.iterrows()
    ]
    heads = ["Dataset", "Program", "Kernels", "Whole call", "Preparation", CROSS]
    return pd.DataFrame(
        shown,
        columns=[*heads, "Kernels, any source", "Whole call, any source", "Runs"],
        dtype=str,
    )


def _time(line: pd.Series, of: str) -> str:
    if line["status"] != "ok" and of == ("kernels" if line["on card"] else "call"):
        return render.status_text(line)
    median, least, most = (line[f"{of} {end}"] for end in ENDS)
    if pd.isna(median) or (of == "kernels" and not line["on card"]):
        return "-"
    return time_text(median) + (f" [{time_text(least)}, {time_text(most)}]" if least < most else "")


def _factor(line: pd.Series) -> str:
    if isinstance(line["estimate"], verdicts.Estimate):
        return estimated(line["estimate"])
    return "-" if pd.isna(line["factor"]) else digits(line["factor"])


def beside_library(lines: pd.DataFrame, rows: pd.DataFrame, tolerance: float) -> list[str]:
    """A sentence a dataset: how others' GPU variants compare with the CPU library, by whole calls.

    lines: as compare gives them; rows: as select gives them; tolerance: as verdicts.directions takes it.
    """
    others = [who for who in columns() if who in on_card() and who not in (OURS, *OPTIONAL)]
    of_batches, said = batches.medians(rows), []
    for dataset, group in lines[lines["status"] == "ok"].groupby("dataset", sort=False):
        cells, clauses = group.set_index("who"), []
        for who in [who for who in others if {who, LIBRARY} <= {*cells.index}]:
            cell, library = cells.loc[who], cells.loc[LIBRARY]
            if found := batches.speed_up(of_batches, cell["column"], library["column"], dataset):
                clauses.append(render.compared(who, name(library), found, tolerance))
        if clauses:
            said.append(f"{dataset}.txt, by whole calls: {'; '.join(clauses)}.")
    return said


def losses(lines: pd.DataFrame, tolerance: float) -> list[str]:
    """A sentence a dataset on the programs that ours is not faster than; none where there is no such program.

    lines: as compare gives them. tolerance: what counts as no difference, as verdicts.directions takes it.
    """
    said = []
    for dataset, group in lines.groupby("dataset", sort=False):
        ours = group[group["who"] == OURS].iloc[0]
        others = group[~group["who"].isin([OURS, *OPTIONAL]) & (group["status"] == "ok")]
        if ours["status"] == "ok":
            clauses = [
                _measured_loss(line, tolerance) + _cited_loss(line, ours, tolerance) for _, line in others.iterrows()
            ]
            if any(clauses):
                said.append(f"{dataset}.txt: {'; '.join(clause for part in clauses for clause in part)}.")
    return said


def _measured_loss(line: pd.Series, tolerance: float) -> list[str]:
    """What the ratios within jobs say of ours and a measured program, unless ours is faster, also with preparation."""
    for estimate, of in ((line["estimate"], ""), (line["total estimate"], ", by whole calls with preparation")):
        if isinstance(estimate, verdicts.Estimate) and not _wins(estimate, tolerance):
            return [render.compared("ours", line["program"], estimate, tolerance) + of]
    return []


def _wins(estimate: verdicts.Estimate, tolerance: float) -> bool:
    """Whether ours is faster; of too few batches for a verdict, in all of them by more than the tolerance."""
    word = verdicts.decide(estimate, verdicts.directions(tolerance))
    return word == "faster" or (word == verdicts.FEW and estimate.low > 1 + tolerance)


def _cited_loss(line: pd.Series, ours: pd.Series, tolerance: float) -> list[str]:
    """What the times of a cited program and of ours say, unless ours is less.

    They are of two hosts, and of two programs that find the same distances.
    """
    if not isinstance(line["file"], str):
        return []
    region, what = ("kernels", "kernels") if line["on card"] else ("call", "whole call")
    said: dict[str, list[str]] = {}
    for of in ("", " any source"):
        theirs, mine, least, most = line[f"{region}{of} median"], *(ours[f"{region}{of} {end}"] for end in ENDS)
        source = SOURCES["apsp"] if VARIANTS[ours["column"]].problem == "apsp" else "any source" if of else "source 0"
        numbers = f"{time_text(mine)} against {time_text(theirs)}"
        if abs(theirs / mine - 1) < tolerance:
            said.setdefault(f"no difference between our {what} and {line['program']}", []).append(
                f"{numbers} from {source}"
            )
        elif mine <= theirs <= most and not of:  # of any source the range is over sources that differ
            said.setdefault(f"{line['program']} is within the range of our {what}", []).append(
                f"{time_text(least)} to {time_text(most)} against {time_text(theirs)} from {source}"
            )
        elif theirs < mine:
            said.setdefault(f"{line['program']} is faster than our {what}", []).append(f"{numbers} from {source}")
    return [f"{words} ({', '.join(numbers)})" for words, numbers in said.items()]


def who_notes() -> list[str]:
    """A sentence on each head: which variants it stands for."""
    said = []
    for who in columns():
        of_problem: dict[str, list[str]] = {}
        for key in (key for key, head in heads().items() if head == who):
            of_problem.setdefault(SOURCES[VARIANTS[key].problem], []).append(long_table.label(key))
        several = any(len(names) > 1 for names in of_problem.values())
        parts = (f"From {sources}: {'; '.join(names)}." for sources, names in of_problem.items())
        said.append(f"{who} is {'the fastest of these' if several else 'one variant'}. {' '.join(parts)}")
    said.append(
        f"Block per source: kernels after the pseudocode of SParry ({SPARRY}); one block searches from one source."
    )
    return said


def own_notes(lines: pd.DataFrame, rows: pd.DataFrame, tolerance: float) -> list[str]:
    """The sentences under the table that are of this table alone; arguments: as beside_library takes them."""
    measured = lines[(lines["status"] == "ok") & lines["column"].notna()]
    alone = ["All cells were measured alone, so there is no ratio of ours."]
    drawn = [name for name in paper.GENERATED if name in set(lines["dataset"])]
    others = [
        f"{', '.join(drawn)} from source 0. Cited times there are of other graphs of the same families and sizes, with "
        "weights from the same range; those of rmat20 and uniform20 were made by GAP's generator. ADDS did not end on "
        "rmat20."
    ]
    return [
        "Road networks from source 0 and from any source; Gnutella graphs from every source.",
        "Kernels: kernels_s + predecessors_s, what finds distances and predecessors, with the graph on the device and "
        "the result left there (Blocked, Staged copies it to the host). Whole call: the paper's timed region, with "
        "copies; of a CPU library what the library takes. Preparation: what is laid out of the graph and uploaded "
        "before that, in the batch that was measured last; - where it was not recorded.",
        f"Times: {medians_of('these')}",
        f"{CROSS}: how many times longer than ours, {RATIOS} Below 1 ours loses. A GPU's time is compared by kernels, "
        "a CPU's with our whole call.",
        *(alone if len(measured) and not measured["batches"].any() else []),
        *who_notes(),
        f"Any source, ours: {_number_of_sources(lines)} seeded vertices, several searches from each; median and range "
        "of their medians, measured alone.",
        "Cited: measured outside this project's workflow, GPU programs on an NVIDIA H200, CPU programs on 16 cores of "
        "its host, without predecessors; on the same graphs as ours (docs/data.md), but for what is said below. Each "
        f"time, its date, file and conditions are in {PEERS}. Runs: of source 0, then of any source.",
        f"A cited time has no {CROSS}, since ours did not run beside it; where ours is not faster, a sentence below "
        f"has the times of the two hosts, ours first. No difference: the cited time is within {tolerance:.0%} of ours.",
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
    """The table's files by suffix.

    rows: as measurements.load gives them; searches: as sources.load does; tolerance: as losses takes it.
    """
    table = tables.define(NAME, shown(datasets, rows))
    rows = select(table, rows)
    measurements.require_one_graph(pd.concat([rows, searches]))
    lines, substitutes = compare(table, rows, searches), measurements.substitutes(rows)
    said = [
        *own_notes(lines, rows, tolerance),
        *measurements.origin(rows, source, labels()),
        *measurements.run(pd.concat([rows, searches])),
    ]
    graphs = tables.counts(table, rows).reindex(lines["dataset"])
    flat = lines[list(SAID)].assign(
        vertices=graphs["vertices"].to_numpy(),
        arcs=graphs["arcs"].to_numpy(),
        substitute=[substitutes.get(dataset, "") for dataset in lines["dataset"]],
        source=source,
    )
    text = to_text(lines, substitutes)
    return {
        ".csv": render.csv_text(flat),
        ".md": render.to_markdown(heading(table), text, said, [*text.columns[2:-1]]),
    }


def view(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table; rows: as measurements.load gives them."""
    searches = measurements.load_sweep("sources", context.paths("sources"))
    made = files(context.datasets, rows, searches, context.source, context.tolerance)
    return {NAME + suffix: text for suffix, text in made.items()}
