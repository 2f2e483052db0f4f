"""Write Table 6, our fastest variants beside the paper's, SParry's, CPU libraries and other programs: CSV and Markdown.

The times of other programs are cited: workflow/paper/peers.csv, with what they are in peers.yaml.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from kernels.variants import VARIANTS, shown_in
from workflow.lib import long_table, measurements, paper, render, step, tables
from workflow.lib.checked_csv import Rule, Schema, above_0, once
from workflow.lib.render import CROSS, digits
from workflow.lib.tables import EDGES, NODES, Datasets, Table
from workflow.scripts import sources
from workflow.scripts.tables import heading

NAME, OURS = "table6", "Ours"
SOURCES = {"sssp": "one source", "apsp": "every source"}
PHASES = ("kernels", "predecessors")
PEERS, MANY, RATE = "Other programs (cited)", "Many sources", "Rate"
SAID = ("column", "status", "median", "min", "max", "repeats", "kernels", "predecessors", "device", "factor")
SPARRY = "https://github.com/qriosa/SParry"
NEAR = 1.5  # times a peer's, for the median over many sources


def heads() -> dict[str, str]:
    """The head of each algorithm/variant; of those with one head the fastest on a dataset is shown."""
    return {variant.key: variant.shown[NAME] for variant in shown_in(NAME)}


def columns() -> list[str]:
    """The heads: ours, then the others as the registry has them."""
    return list(dict.fromkeys([OURS, *heads().values()]))


PEER_TIMES = Schema(
    ("peer", "dataset", "seconds"),
    ("seconds",),
    (
        Rule(("peer",), "peers.yaml says nothing of it", lambda rows: rows["peer"].isin(list(cited_programs()))),
        paper.DATASET,
        above_0("seconds"),
        once("peer", "dataset"),
    ),
    paper.ADVICE,
)


@cache
def cited_programs() -> dict[str, str]:
    """What the cited time of each program is of."""
    return yaml.safe_load((measurements.PAPER / "peers.yaml").read_text())


def cited_times() -> pd.Series:
    """Seconds, indexed by (peer, dataset)."""
    return PEER_TIMES.read([measurements.PAPER / "peers.csv"]).set_index(["peer", "dataset"])["seconds"]


def problems(table: Table) -> dict[str, str]:
    """By dataset, the problem that the table shows it with."""
    return {dataset: problem for problem, names in table.rows.items() for dataset in names}


def facts(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each of columns() on each dataset, indexed by both ("who", "dataset").

    The columns of measurements.summarise, of which median, min and max are kernels_s + predecessors_s; "column", the
    fastest variant, NaN where none is ok; "factor", how many times longer than ours. rows: as select gives them.
    """
    cells = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"])).reset_index()
    cells["who"] = cells["column"].map(heads())
    cells["column"] = cells["column"].where(cells["status"] == "ok")
    fastest = cells.sort_values("median").drop_duplicates(["who", "dataset"]).set_index(["who", "dataset"])
    found = fastest.reindex(pd.MultiIndex.from_product([columns(), table.datasets], names=["who", "dataset"]))
    found["status"] = found["status"].fillna("no measurement")
    ours = tables.of_label(found["median"], OURS, "who")
    return found.assign(factor=found["median"] / found.index.get_level_values("dataset").map(ours))


def select(table: Table, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 6's cells, of all rows measured."""
    problem = problems(table)
    chosen = measurements.select(rows, list(heads()), list(problem))
    return chosen[chosen["problem"] == chosen["dataset"].map(problem)]


def many(searches: pd.DataFrame) -> pd.DataFrame:
    """Indexed by dataset: median, min, max (s) over the sources of each one's median, and count of sources."""
    seconds = (searches["kernels_s"] + searches["predecessors_s"]).groupby([searches["dataset"], searches["source"]])
    return seconds.median().groupby("dataset").agg(["median", "min", "max", "count"])


def rate(column: str, seconds: float, vertices: float, arcs: float) -> tuple[float, str]:
    """Per second, and of what: relaxations of Floyd-Warshall, else arcs."""
    if VARIANTS[column].algorithm == "floyd_warshall":
        return vertices**3 / seconds, "relaxations"
    return arcs * (vertices if VARIANTS[column].problem == "apsp" else 1) / seconds, "arcs"


def rate_text(per_second: float, unit: str) -> str:
    if unit == "relaxations":
        return f"{digits(per_second / 1e12)} T relaxations/s"
    millions = per_second / 1e6
    return f"{f'{millions:,.0f}' if millions >= 100 else digits(millions)} MTEPS"


def labels() -> dict[str, str]:
    """What each variant is called under the table: Ours (Near-Far)."""
    return {key: f"{who} ({VARIANTS[key].title})" for key, who in heads().items()}


def name(cell: pd.Series) -> str:
    """What the variant of a cell is called; a CPU's with its cores."""
    variant = VARIANTS[cell["column"]]
    return variant.title if variant.on_gpu else f"{variant.title} on {render.cores(cell)}"


def compare(table: Table, found: pd.DataFrame, rows: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """A row a dataset with all that the CSV says.

    found: the facts of rows, which are as select gives them; searches: as sources.load does.
    """
    of_many, cited = many(searches), cited_times()
    graphs, substitutes = tables.counts(table, rows), measurements.substitutes(rows)
    flat = []
    for dataset in table.datasets:
        vertices, arcs = graphs.loc[dataset]
        line = {"dataset": dataset, "vertices": vertices, "arcs": arcs}
        for who in columns():
            cell = found.loc[who, dataset]
            line |= {f"{who} {key}": cell[key] for key in SAID}
        ours = found.loc[OURS, dataset]
        for peer in cited_programs():
            seconds = cited.get((peer, dataset), np.nan)
            line |= {f"{peer} seconds": seconds, f"{peer} factor": seconds / ours["median"]}
        over = of_many.loc[dataset] if dataset in of_many.index else pd.Series(np.nan, of_many.columns)
        line |= {f"{MANY} {key}": over[key] for key in of_many}
        of_dataset = cited[cited.index.get_level_values("dataset") == dataset]
        line[f"{MANY} over fastest peer"] = over["median"] / of_dataset.min()
        known = isinstance(ours["column"], str)
        line["rate"], line["rate of"] = rate(ours["column"], ours["median"], vertices, arcs) if known else (np.nan, "")
        flat.append(line | {"substitute": substitutes.get(dataset, "")})
    return pd.DataFrame(flat)


def to_text(table: Table, found: pd.DataFrame, compared: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    """The table for readers, all cells text; compared: as compare gives it."""
    problem = problems(table)
    return pd.DataFrame(
        {
            "Dataset": [f"{dataset}.txt{' †' if dataset in substitutes else ''}" for dataset in table.datasets],
            NODES: [f"{line['vertices']:,}" for _, line in compared.iterrows()],
            EDGES: [f"{line['arcs']:,}" for _, line in compared.iterrows()],
            **{who: [_cell(who, found.loc[who, dataset]) for dataset in table.datasets] for who in columns()},
            PEERS: [_cited(line) for _, line in compared.iterrows()],
            MANY: [_many(line, problem[line["dataset"]]) for _, line in compared.iterrows()],
            RATE: [rate_text(row["rate"], row["rate of"]) if row["rate of"] else "-" for _, row in compared.iterrows()],
        }
    )


def _cell(who: str, cell: pd.Series) -> str:
    if cell["status"] != "ok":
        return render.status_text(cell)
    factor = "" if who == OURS else render.speed_up(cell["factor"])
    spread = f"[{digits(cell['min'])}, {digits(cell['max'])}], " if cell["repeats"] > 1 else ""
    lines = [f"{name(cell)}:", f"{digits(cell['median'])} s{factor}", f"{spread}n={cell['repeats']:.0f}"]
    if who == OURS:
        lines += [f"{phase} {digits(cell[phase])} s" for phase in PHASES if cell[phase] > 0]
    return "\n".join(lines)


def _cited(line: pd.Series) -> str:
    lines = [
        f"{peer}: {digits(line[f'{peer} seconds'])} s{render.speed_up(line[f'{peer} factor'])}"
        for peer in cited_programs()
        if not np.isnan(line[f"{peer} seconds"])
    ]
    return "\n".join(lines)


def _many(line: pd.Series, problem: str) -> str:
    if np.isnan(line[f"{MANY} median"]):
        return "no measurement" if problem == "sssp" else "-"
    median, least, most = (digits(line[f"{MANY} {what}"]) for what in ("median", "min", "max"))
    over = line[f"{MANY} over fastest peer"]
    part = "" if np.isnan(over) else f"{digits(over)} of the fastest cited\n"
    return f"{median} s\n{part}[{least}, {most}], {line[f'{MANY} count']:.0f} sources"


def verdicts(table: Table, found: pd.DataFrame, compared: pd.DataFrame) -> list[str]:
    """Where ours loses, and how the median over many sources compares with the cited times.

    Ours does not lose to a measured cell whose range overlaps its own; a cited time has no range.
    """
    if compared.empty:
        return []
    said, won = [], []
    for _, line in compared.iterrows():
        dataset = line["dataset"]
        ours = found.loc[OURS, dataset]
        if ours["status"] != "ok":
            continue
        others = [who for who in columns() if who != OURS]
        measured = [cell for who in others if (cell := found.loc[who, dataset])["status"] == "ok"]
        lost = {name(cell): cell["factor"] for cell in measured if cell["max"] < ours["min"]}
        lost |= {peer: factor for peer in cited_programs() if (factor := line[f"{peer} factor"]) < 1}
        if lost:
            times = " and ".join(f"to {other} ({digits(1 / factor)} times)" for other, factor in lost.items())
            said.append(f"{dataset}.txt: ours loses {times}.")
        else:
            won.append(f"{dataset}.txt")
    if won:
        said.append(f"{', '.join(won)}: ours loses to none of these.")
    over = compared.set_index("dataset")[f"{MANY} over fastest peer"].dropna()
    for text, chosen in (("within", over <= NEAR), ("more than", over > NEAR)):
        if chosen.any():
            names = ", ".join(f"{dataset}.txt" for dataset in over.index[chosen])
            said.append(f"{names}: the median over many sources is {text} {NEAR} times the fastest cited time.")
    return said


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


def own_notes(table: Table, found: pd.DataFrame, compared: pd.DataFrame) -> list[str]:
    return [
        "Times: kernels_s + predecessors_s, what finds distances and predecessors, with the graph on the device and "
        "the result left there (Blocked, Staged copies it to the host); on a CPU what the library takes. Median, "
        "[least, greatest] of n repeats.",
        *who_notes(),
        f"{CROSS}: how many times longer than ours; below 1 ours loses.",
        "Rate: MTEPS are millions of arcs a second, the arcs of the graph, times the vertices where each is a source, "
        "over the time; relaxations/s, for Floyd-Warshall, are the vertices cubed over the time.",
        f"{MANY}: each source's median; then median and range over the sources. Of the fastest cited: that median "
        "divided by the fastest cited time; below 1 ours is faster.",
        "Cited times: measured on one host on 20 November 2026, outside this project's workflow, from vertex 0, on its "
        "substitutes of the road networks (docs/data.md) and on the Gnutella graphs. Their logs are not part of the "
        "repository.",
        *(f"{peer}: {text}." for peer, text in cited_programs().items()),
        *verdicts(table, found, compared),
    ]


def files(datasets: Datasets, rows: pd.DataFrame, searches: pd.DataFrame, source: str) -> dict[str, str]:
    """The table's files by suffix. rows: as measurements.load gives them; searches: as sources.load does."""
    table = tables.define(NAME, datasets)
    rows = select(table, rows)
    select(table, pd.concat([rows, searches]))  # refuses other graphs than the table's
    found = facts(table, rows)
    compared = compare(table, found, rows, searches)
    text = to_text(table, found, compared, measurements.substitutes(rows))
    said = [
        *own_notes(table, found, compared),
        *measurements.origin(rows, source, labels()),
        *measurements.run(pd.concat([rows, searches])),
    ]
    return {
        ".csv": render.csv_text(compared.assign(source=source)),
        ".md": render.to_markdown(heading(table), text, said, (NODES, EDGES)),
    }


def write(datasets: Datasets, rows: pd.DataFrame, searches: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the table's files into a folder."""
    render.save(files(datasets, rows, searches, source), folder / NAME)


def main(args: argparse.Namespace) -> None:
    rows, searches = measurements.load(args.measurements), sources.load(args.sources)
    write(args.datasets, rows, searches, args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    arguments.add_argument("--sources", type=Path, nargs="*", default=[], help="results/sources.csv")
    step.add_datasets(arguments)
    step.run(main, arguments)
