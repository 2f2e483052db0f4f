"""Write Table 6, our fastest beside the paper's, CPU libraries and other programs: CSV, Markdown, LaTeX, HTML.

The times of other programs are cited: workflow/paper/peers.csv, with what they are in peers.yaml.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from kernels.variants import VARIANTS
from workflow.lib import measurements, paper, step
from workflow.lib.checked_csv import Rule, Schema, above_0, once
from workflow.scripts import sources, tables
from workflow.scripts.tables import CROSS, EDGES, NODES, TABLES, digits

TITLE = "Our fastest beside the paper's, CPU libraries' and other programs' (an addition to the paper's own tables)"
DATASETS = TABLES[5]["datasets"]
PROBLEM = {dataset: problem for problem, names in DATASETS.items() for dataset in names}
OURS, PAPER, CPU = "Ours", "Paper's best", "CPU library"
_TABLE_5 = {column.label: column.variants for column in tables.columns(TABLES[5])}
_LIBRARIES = [_TABLE_5[label] for label in tables.baselines(TABLES[5]["groups"][0])]
# Who: by problem the variants (algorithm/variant) of which the fastest on a dataset is shown.
WHO = {
    OURS: {problem: [key for key, v in VARIANTS.items() if v.beyond and v.problem == problem] for problem in DATASETS},
    PAPER: {problem: [key] for problem, key in _TABLE_5[PAPER].items()},
    CPU: {problem: [library[problem] for library in _LIBRARIES if problem in library] for problem in DATASETS},
}
KEYS = {key: who for who, by_problem in WHO.items() for keys in by_problem.values() for key in keys}
PEERS, MANY, RATE = "Other programs (cited)", "Many sources", "Rate"
# As tables.py wants a table: what its cells are, and what its columns are called.
_COLUMNS = {key: {problem: key} for by_problem in WHO.values() for problem, keys in by_problem.items() for key in keys}
CELLS = {"datasets": DATASETS, "groups": [{"columns": _COLUMNS}]}
SHOWN = {"groups": [{"baseline": [], "columns": {head: {} for head in (*WHO, PEERS, MANY, RATE)}}]}
SAID = ("column", "status", "median", "min", "max", "repeats", "kernels", "predecessors", "device", "factor")
NEAR = 1.5  # times a peer's, for the median over many sources
NOTES = [
    "Times: kernels_s + predecessors_s, what finds distances and predecessors, with the graph on the device and the "
    "result left there; on a CPU what the library takes. Median, [least, greatest] of n repeats.",
    "Ours: the fastest measured of the variants past the paper: from one source (road networks) Delta-Stepping "
    "Near-Far and Bellman-Ford Stride, ELL; from all (Gnutella) Bellman-Ford Frontier and Floyd-Warshall Blocked, with "
    "32 or 16 bits or staged. Paper's best: Bellman-Ford, Stride with Flag; Floyd-Warshall, Tiled with Shared Memory. "
    "CPU library: the faster of SciPy and NetworKit, as in Table 5.",
    f"{CROSS}: how many times longer than ours; below 1 ours loses.",
    "Rate: MTEPS are millions of arcs a second, the arcs of the graph, times the vertices where each is a source, over "
    "the time; relaxations/s, for Floyd-Warshall, are the vertices cubed over the time.",
    "Cited times: all of one host, on 20 November 2026, from vertex 0, on the stand-ins of the road networks that "
    "docs/data.md describes and on the Gnutella graphs.",
    f"{MANY}: median and range, over the sources, of each source's median; {CROSS}: over the fastest cited time.",
]


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


def facts(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each of WHO on each dataset, indexed by both.

    The columns of measurements.summarise, of which median, min and max are kernels_s + predecessors_s; "column", the
    fastest variant, NaN where none is ok; "factor", how many times longer than ours. rows: as select gives them.
    """
    cells = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"])).reset_index()
    cells["who"] = cells["column"].map(KEYS)
    cells["column"] = cells["column"].where(cells["status"] == "ok")
    fastest = cells.sort_values("median").drop_duplicates(["who", "dataset"]).set_index(["who", "dataset"])
    found = fastest.reindex(pd.MultiIndex.from_product([WHO, PROBLEM], names=["who", "dataset"]))
    found["status"] = found["status"].fillna("no measurement")
    ours = found["median"].xs(OURS)
    return found.assign(factor=found["median"] / found.index.get_level_values("dataset").map(ours))


def select(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 6's cells, of all rows measured."""
    chosen = measurements.select(rows, list(KEYS), list(PROBLEM))
    return chosen[chosen["problem"] == chosen["dataset"].map(PROBLEM)]


def many(searches: pd.DataFrame) -> pd.DataFrame:
    """Indexed by dataset: median, min, max (s) over the sources of each one's median, and count of sources."""
    seconds = (searches["kernels_s"] + searches["predecessors_s"]).groupby([searches["dataset"], searches["source"]])
    return seconds.median().groupby("dataset").agg(["median", "min", "max", "count"])


def rate(column: str, seconds: float, vertices: float, arcs: float) -> tuple[float, str]:
    """Per second, and of what: by the definition in NOTES."""
    if VARIANTS[column].algorithm == "floyd_warshall":
        return vertices**3 / seconds, "relaxations"
    return arcs * (vertices if VARIANTS[column].problem == "apsp" else 1) / seconds, "arcs"


def rate_text(per_second: float, unit: str) -> str:
    if unit == "relaxations":
        return f"{digits(per_second / 1e12)} T relaxations/s"
    millions = per_second / 1e6
    return f"{f'{millions:,.0f}' if millions >= 100 else digits(millions)} MTEPS"


def heads() -> dict[str, str]:
    """What each variant is called under the table: Ours (Frontier)."""
    return {key: f"{who} ({VARIANTS[key].title})" for key, who in KEYS.items()}


def name(cell: pd.Series) -> str:
    """What the variant of a cell is called; a CPU's with its cores."""
    variant = VARIANTS[cell["column"]]
    return variant.title if variant.on_gpu else f"{variant.title} on {tables.cores(cell['note'])}"


def compare(found: pd.DataFrame, rows: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """A row a dataset with all that the CSV says.

    found: the facts of rows, which are as select gives them; searches: as sources.load does.
    """
    of_many, cited = many(searches), cited_times()
    graphs, stand_ins = tables.counts(CELLS, rows), measurements.stand_ins(rows)
    flat = []
    for dataset in PROBLEM:
        vertices, arcs = graphs.loc[dataset]
        line = {"dataset": dataset, "vertices": vertices, "arcs": arcs}
        for who in WHO:
            cell = found.loc[who, dataset]
            line |= {f"{who} {key}": cell[key] for key in SAID}
        ours = found.loc[OURS, dataset]
        for peer in cited_programs():
            seconds = cited.get((peer, dataset), np.nan)
            line |= {f"{peer} seconds": seconds, f"{peer} factor": seconds / ours["median"]}
        over = of_many.loc[dataset] if dataset in of_many.index else pd.Series(np.nan, of_many.columns)
        line |= {f"{MANY} {key}": over[key] for key in of_many}
        line[f"{MANY} over fastest peer"] = over["median"] / cited.xs(dataset, level="dataset").min()
        known = isinstance(ours["column"], str)
        line["rate"], line["rate of"] = rate(ours["column"], ours["median"], vertices, arcs) if known else (np.nan, "")
        flat.append(line | {"note": "; ".join(stand_ins.get(dataset, []))})
    return pd.DataFrame(flat)


def to_text(found: pd.DataFrame, compared: pd.DataFrame, stand_ins: dict) -> pd.DataFrame:
    """The table for readers, all cells text; compared: as compare gives it."""
    names = compared["dataset"]
    text = {
        "Dataset": [f"{dataset}.txt{' †' if dataset in stand_ins else ''}" for dataset in names],
        NODES: compared["vertices"].map("{:,}".format),
        EDGES: compared["arcs"].map("{:,}".format),
        **{who: [_cell(who, found.loc[who, dataset]) for dataset in names] for who in WHO},
        PEERS: [_cited(line) for _, line in compared.iterrows()],
        MANY: [_many(line) for _, line in compared.iterrows()],
        RATE: [rate_text(line["rate"], line["rate of"]) if line["rate of"] else "-" for _, line in compared.iterrows()],
    }
    return pd.DataFrame(text)


def _cell(who: str, cell: pd.Series) -> str:
    if cell["status"] != "ok":
        return tables.status_text(cell)
    factor = "" if who == OURS else tables.speed_up(cell["factor"])
    spread = f"[{digits(cell['min'])}, {digits(cell['max'])}], " if cell["repeats"] > 1 else ""
    lines = [f"{name(cell)}:", f"{digits(cell['median'])} s{factor}", f"{spread}n={cell['repeats']:.0f}"]
    if who == OURS:
        lines += [f"{phase} {digits(cell[phase])} s" for phase in tables.PHASES if cell[phase] > 0]
    return "\n".join(lines)


def _cited(line: pd.Series) -> str:
    lines = [
        f"{peer}: {digits(line[f'{peer} seconds'])} s{tables.speed_up(line[f'{peer} factor'])}"
        for peer in cited_programs()
        if not np.isnan(line[f"{peer} seconds"])
    ]
    return "\n".join(lines)


def _many(line: pd.Series) -> str:
    if np.isnan(line[f"{MANY} median"]):
        return "no measurement" if PROBLEM[line["dataset"]] == "sssp" else "-"
    median, least, most = (digits(line[f"{MANY} {what}"]) for what in ("median", "min", "max"))
    ratio = tables.speed_up(line[f"{MANY} over fastest peer"])
    return f"{median} s{ratio}\n[{least}, {most}], {line[f'{MANY} count']:.0f} sources"


def verdicts(found: pd.DataFrame, compared: pd.DataFrame) -> list[str]:
    """Where ours loses, and how the median over many sources stands beside the cited times.

    Nothing is lost to a measured cell whose range overlaps our own; a cited time has no range.
    """
    said, won = [], []
    for _, line in compared.iterrows():
        dataset = line["dataset"]
        ours = found.loc[OURS, dataset]
        if ours["status"] != "ok":
            continue
        measured = [cell for who in (PAPER, CPU) if (cell := found.loc[who, dataset])["status"] == "ok"]
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


def render(rows: pd.DataFrame, searches: pd.DataFrame, source: str) -> dict[str, str]:
    """The table's files by suffix. rows: as measurements.load gives them; searches: as sources.load does."""
    rows = select(rows)
    select(pd.concat([rows, searches]))  # refuses other graphs than the table's
    found = facts(rows)
    compared = compare(found, rows, searches)
    text = to_text(found, compared, measurements.stand_ins(rows))
    said = [
        *NOTES,
        *(f"{peer}, cited, not measured by this project: {text}." for peer, text in cited_programs().items()),
        *verdicts(found, compared),
        *measurements.origin(rows, source, heads()),
        *measurements.run(pd.concat([rows, searches])),
    ]
    title = f"Table 6: {TITLE}"
    return {
        ".csv": tables.csv_text(compared.assign(source=source)),
        ".md": tables.to_markdown(title, text, said),
        ".tex": tables.to_latex(TITLE, text, said, SHOWN),
        ".html": tables.to_html(title, text, said, SHOWN),
    }


def write(rows: pd.DataFrame, searches: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the table's files into a folder."""
    tables.save(render(rows, searches, source), folder / "table6")


def main(args: argparse.Namespace) -> None:
    write(measurements.load(args.measurements), sources.load(args.sources), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    arguments.add_argument("--sources", type=Path, nargs="*", default=[], help="results/sources.csv")
    step.run(main, arguments)
