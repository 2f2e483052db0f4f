"""Write a table, our measurements beside the paper's numbers: CSV, Markdown, LaTeX, HTML.

What a table holds stands in workflow/paper/tables.yaml, the paper's numbers in workflow/paper/times.csv.
Cells without a measurement say so.
"""

from __future__ import annotations

import argparse
import html
import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from kernels.datasets import atomic
from workflow.lib import measurements, step

TABLES = yaml.safe_load((measurements.PAPER / "tables.yaml").read_text())
NODES, EDGES = "Number of Nodes", "Number of Edges"
# What the CSV says of each cell: the column's head followed by the right-hand name.
FACTS = {
    "status": "status",
    "median": "seconds",
    "min": "min",
    "max": "max",
    "repeats": "repeats",
    "kernels": "kernels_s",
    "predecessors": "predecessors_s",
    "speed-up": "speed-up",
    "device": "device",
    "paper seconds": "paper seconds",
    "paper text": "paper text",
    "paper speed-up": "paper speed-up",
}
PHASES = ("kernels", "predecessors")
DEFAULT_LIMIT_S = 3600
CROSS = "\N{MULTIPLICATION SIGN}"
LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": "$<$",
        ">": "$>$",
        CROSS: r"$\times$",
        "†": r"\dag{}",
        "±": r"$\pm$",
        "²": "$^2$",
        "³": "$^3$",
        "µ": r"\textmu{}",
    }
)
STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse; border-block: 2px solid #222 }
caption { font-weight: bold; text-align: left; padding-bottom: .6em }
th, td { padding: .35em .8em; text-align: left; vertical-align: top }
th[colspan]:not(:empty), thead tr:last-child th { border-bottom: 1px solid #222 }
tbody tr + tr { border-top: 1px solid #ccc }
td { white-space: nowrap; font-variant-numeric: tabular-nums }
ul { font-size: 13px; padding-left: 1.2em; max-width: 75em }
"""


@dataclass(frozen=True)
class Column:
    """A column of a table. group: the head of its group, or empty. variants: algorithm/variant by problem."""

    group: str
    head: str
    variants: dict[str, str]
    baselines: tuple[str, ...]  # the labels of the columns that its speed-ups are over: the fastest of them in each row

    @property
    def label(self) -> str:
        return _label(self.group, self.head)


def _label(group: str, head: str) -> str:
    return f"{head} ({group})" if group else head


def columns(table: dict) -> list[Column]:
    return [
        Column(name := group.get("head", ""), head, variants, tuple(_label(name, base) for base in baselines(group)))
        for group in table["groups"]
        for head, variants in group["columns"].items()
    ]


def baselines(group: dict) -> list[str]:
    """The heads of the group's baselines, which a table names alone or as a list."""
    return [group["baseline"]] if isinstance(group["baseline"], str) else group["baseline"]


def datasets(table: dict) -> list[str]:
    return [dataset for names in table["datasets"].values() for dataset in names]


def variants(table: dict) -> list[str]:
    """Each algorithm/variant that the table shows."""
    return [variant for column in columns(table) for variant in column.variants.values()]


def compare(table: dict, rows: pd.DataFrame) -> pd.DataFrame:
    """Ours beside the paper's: one row a cell, indexed by (label of a column, dataset).

    The columns of measurements.summarise, "paper seconds", "paper text" and, over the fastest of the column's
    baselines, "speed-up" and "paper speed-up"; NaN where there is none. status is "no measurement" where a cell is to
    be measured, "-" where the table has none: the paper has no such number, or no such variant solves the problem.
    """
    cells = pd.DataFrame.from_records(
        [
            (column.label, dataset, column.variants.get(problem), column.baselines)
            for column in columns(table)
            for problem, names in table["datasets"].items()
            for dataset in names
        ],
        columns=["label", "dataset", "column", "baselines"],
        index=["label", "dataset"],
    )
    paper = measurements.paper_times().add_prefix("paper ")
    facts = cells.join(measurements.summarise(rows), on=["column", "dataset"]).join(paper, on=["column", "dataset"])
    wanted = facts["column"].notna() if table.get("beyond") else facts["paper text"].notna()
    facts["status"] = facts["status"].fillna(wanted.map({True: "no measurement", False: "-"}))
    facts["repeats"] = facts["repeats"].fillna(0).astype(int)
    for seconds, speed_up in (("paper seconds", "paper speed-up"), ("median", "speed-up")):
        by_label = facts[seconds].unstack("dataset")
        fastest = [by_label.loc[list(labels), dataset].min() for (_, dataset), labels in facts["baselines"].items()]
        facts[speed_up] = fastest / facts[seconds]
    return facts


def counts(table: dict, rows: pd.DataFrame) -> pd.DataFrame:
    """vertices and arcs (int64) of each of the table's datasets: as measured, else the paper's."""
    paper = measurements.paper_datasets().loc[datasets(table), ["vertices", "arcs"]]
    measured = rows.groupby("dataset")[["vertices", "arcs"]].first()
    return measured.reindex(paper.index).fillna(paper).astype(int)


def to_csv(table: dict, rows: pd.DataFrame, source: str) -> str:
    """A row a dataset, a column a fact; times in seconds."""
    facts, graphs, stand_ins = compare(table, rows), counts(table, rows), measurements.stand_ins(rows)
    flat = {
        "Dataset": [f"{dataset}.txt" for dataset in datasets(table)],
        NODES: graphs["vertices"],
        EDGES: graphs["arcs"],
    }
    for column in columns(table):
        flat |= {f"{column.label} {name}": facts[fact].xs(column.label) for fact, name in FACTS.items()}
    flat["source"] = source
    flat["note"] = ["; ".join(stand_ins.get(dataset, [])) for dataset in datasets(table)]
    return csv_text(pd.DataFrame(flat))


def to_text(table: dict, rows: pd.DataFrame) -> pd.DataFrame:
    """The table as text for readers, a column a label, cells as cell_text gives them."""
    facts, graphs, stand_ins = compare(table, rows), counts(table, rows), measurements.stand_ins(rows)
    shown = facts.assign(text=[cell_text(cell, table.get("phases", False)) for _, cell in facts.iterrows()])["text"]
    return pd.DataFrame(
        {
            "Dataset": [f"{name}.txt{' †' if name in stand_ins else ''}" for name in datasets(table)],
            NODES: graphs["vertices"].map("{:,}".format),
            EDGES: graphs["arcs"].map("{:,}".format),
            **{column.label: shown.xs(column.label) for column in columns(table)},
        }
    )


def cell_text(cell: pd.Series, phases: bool) -> str:
    """One row of compare() in lines.

    Median and speed-up, spread and repeats, phases if wanted, the paper's: "5.70 s, x1.51", "[5.69, 5.72], n=6",
    "kernels 5.65 s", "predecessors 0.00310 s", "paper: 3.91371s, x2.19".
    """
    if cell["status"] == "ok":
        spread = f"[{digits(cell['min'])}, {digits(cell['max'])}], " if cell["repeats"] > 1 else ""
        lines = [f"{digits(cell['median'])} s" + speed_up(cell["speed-up"]), f"{spread}n={cell['repeats']}"]
        if phases:
            lines += [f"{phase} {digits(cell[phase])} s" for phase in PHASES if cell[phase] > 0]
    else:
        lines = [status_text(cell)]
    if isinstance(cell["paper text"], str):
        lines.append(f"paper: {cell['paper text']}" + speed_up(cell["paper speed-up"]))
    return "\n".join(lines)


def status_text(cell: pd.Series) -> str:
    """What stands for the time of a cell that has none."""
    if cell["status"] == "timeout":
        limit = re.search(r"limit ([\d.]+) s passed", cell["note"])
        seconds = float(limit[1]) if limit else DEFAULT_LIMIT_S
        for unit, length in (("h", 3600), ("min", 60)):
            if seconds % length == 0:
                return f">{seconds / length:g} {unit}"
        return f">{seconds:g} s"
    return cell["status"].replace("_", " ")


def digits(number: float) -> str:
    """Three significant digits, or all before the point."""
    return f"{number:.0f}" if number >= 1000 else f"{number:#.3g}".rstrip(".")


def speed_up(ratio: float) -> str:
    """ "The text ", x1.51" with a proper cross; nothing where there is no ratio."""
    return "" if np.isnan(ratio) else f", {CROSS}{digits(ratio)}"


def notes(table: dict, rows: pd.DataFrame, source: str) -> list[str]:
    """The sentences under the table."""
    labels = {variant: column.label for column in columns(table) for variant in column.variants.values()}
    sentences = [*table.get("notes", []), *measurements.origin(rows, source, labels)]
    ((*others, last),) = {tuple(baselines(group)) for group in table["groups"]}
    baseline = f"the fastest of {', '.join(others)} and {last}" if others else last
    group = " and column group" if len(table["groups"]) > 1 else ""
    sentences.append(
        "Measured: median of the paper's timed region, "
        f"{CROSS}speed-up over {baseline} in the same row{group}, [least, greatest] of n repeats. "
        "Paper: as printed there."
    )
    if table.get("phases"):
        sentences.append(
            "Of a measured time, kernels is what the launches that find distances take, predecessors what those take "
            "that only find predecessors (none where the same launches record them): medians on the card, without "
            "allocating and copying."
        )
    facts = compare(table, rows)
    if others:
        sentences += verdicts(table, facts)
    repeats = facts["repeats"][facts["status"] == "ok"]
    if len(repeats):
        few, many = repeats.min(), repeats.max()
        sentences.append(f"Repeats: {few if few == many else f'{few} to {many}'} a cell.")
    sentences += measurements.run(rows)
    for (label, dataset), cell in facts[facts["status"].isin(["timeout", "no_memory"])].iterrows():
        reasons = [i for i in measurements.items([cell["note"]]) if not i.startswith(measurements.STAND_IN)]
        sentences.append(f"{dataset}.txt, {label}: {'; '.join([status_text(cell), *reasons])}.")
    return sentences


def verdicts(table: dict, facts: pd.DataFrame) -> list[str]:
    """A sentence a dataset: how the fastest of a group's baselines and each other column compare.

    No difference is made of two cells whose ranges overlap.
    """
    sentences = []
    for (group, dataset), measured in facts[facts["status"] == "ok"].groupby(["baselines", "dataset"], sort=False):
        cells = measured.droplevel("dataset")
        is_baseline = cells.index.isin(group)
        if not is_baseline.any() or is_baseline.all():
            continue
        fastest = cells.loc[cells["median"][is_baseline].idxmin()]
        name = f"{fastest.name} on {cores(fastest['note'])}"
        clauses = []
        for label, cell in cells[~is_baseline].iterrows():
            if cell["min"] <= fastest["max"] and fastest["min"] <= cell["max"]:
                clauses.append(f"no difference between {label} and {name}")
            elif cell["speed-up"] < 1:
                clauses.append(f"{name} is {digits(1 / cell['speed-up'])} times faster than {label}")
            else:
                clauses.append(f"{label} is {digits(cell['speed-up'])} times faster than {name}")
        sentences.append(f"{dataset}.txt: {'; '.join(clauses)}.")
    return sentences


def cores(note: str) -> str:
    """How many cores a CPU cell had; one, where its note does not say."""
    said = re.search(rf"{measurements.CORES} (\d+)", note)
    return "one core" if said is None or said[1] == "1" else f"{said[1]} cores"


def to_markdown(title: str, text: pd.DataFrame, notes: list[str], numbers: Collection[str] = (NODES, EDGES)) -> str:
    """numbers: the columns that stand on the right."""
    cells = text.map(lambda cell: cell.replace("|", r"\|").replace("\n", "<br>"))
    align = ["right" if head in numbers else "left" for head in text]
    body = cells.to_markdown(index=False, colalign=align, disable_numparse=True)
    return f"**{title}**\n\n{body}\n\n" + "".join(f"- {note}\n" for note in notes)


def to_latex(title: str, text: pd.DataFrame, notes: list[str], table: dict) -> str:
    """The groups of columns one below the other: beside each other they are too wide for a page."""
    cells = text.map(lambda cell: latex(cell).replace("\n", r" \newline "))
    right, left = (rf">{{\ragged{side}\arraybackslash}}p{{%.3f\linewidth}}" for side in ("left", "right"))
    width = 0.58 / max(len(group["columns"]) for group in table["groups"])
    groups: dict[str, dict[str, str]] = {}
    for column in columns(table):
        groups.setdefault(column.group, {})[column.label] = column.head
    body = []
    for group, heads in groups.items():
        part = cells[["Dataset", NODES, EDGES, *heads]].rename(columns=heads).rename(columns=latex)
        if group:
            body.append(rf"\par\medskip\noindent {latex(capital(group))}\par\smallskip")
        layout = "l" + right % 0.08 * 2 + left % width * len(heads)
        body.append(part.style.hide(axis="index").to_latex(hrules=True, column_format=layout).rstrip())
    return latex_page(title, body, notes)


def latex_page(title: str, body: list[str], notes: list[str]) -> str:
    """body: the lines between the caption and the notes."""
    return "\n".join(
        [
            r"% Needs \usepackage{array,booktabs}.",
            r"\begin{table*}",
            rf"\caption{{{latex(title)}}}",
            r"\footnotesize\setlength{\tabcolsep}{3pt}\raggedright",
            *body,
            *(rf"\par\noindent {latex(note)}" for note in notes),
            r"\end{table*}",
            "",
        ]
    )


def latex(text: str) -> str:
    return text.translate(LATEX)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def to_html(title: str, text: pd.DataFrame, notes: list[str], table: dict) -> str:
    if len(table["groups"]) > 1:
        heads = [(capital(column.group), column.head) for column in columns(table)]
        heads = pd.MultiIndex.from_tuples([("", head) for head in text.columns[:3]] + heads)
        text = text.set_axis(heads, axis="columns")
    return html_page(title, text, notes, numbers=[2, 3])


def html_page(title: str, text: pd.DataFrame, notes: list[str], numbers: list[int]) -> str:
    """numbers: which columns stand on the right, from 1."""
    cells = text.map(lambda cell: html.escape(cell).replace("\n", "<br>"))
    right = ", ".join(f"td:nth-child({number})" for number in numbers)
    shown = cells.style.hide(axis="index").set_caption(html.escape(title)).set_uuid("t")
    table = shown.to_html(cell_ids=False).rstrip()
    return html_document(title, f"{right} {{ text-align: right }}\n", [table, html_list(notes)])


def html_document(title: str, style: str, body: list[str]) -> str:
    """A page that stands alone. style: rules beyond those of all pages; body: blocks of HTML."""
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>',
            f"<style>{STYLE}{style}</style>",
            *body,
            "</html>\n",
        ]
    )


def html_list(items: list[str]) -> str:
    return "\n".join(["<ul>", *(f"<li>{html.escape(item)}</li>" for item in items), "</ul>"])


def render(number: int, rows: pd.DataFrame, source: str) -> dict[str, str]:
    """The table's files by suffix: .csv, .md, .tex, .html. rows: as measurements.load gives them."""
    table = TABLES[number]
    rows = measurements.select(rows, variants(table), datasets(table))
    text, said = to_text(table, rows), notes(table, rows, source)
    title = f"Table {number}: {table['title']}"
    return {
        ".csv": to_csv(table, rows, source),
        ".md": to_markdown(title, text, said),
        ".tex": to_latex(table["title"], text, said, table),
        ".html": to_html(title, text, said, table),
    }


def write(number: int, rows: pd.DataFrame, source: str, folder: Path) -> None:
    """Write the table's files into a folder."""
    save(render(number, rows, source), folder / f"table{number}")


def csv_text(facts: pd.DataFrame) -> str:
    return facts.to_csv(index=False, lineterminator="\n", float_format="%.9g")


def save(files: dict[str, str], stem: Path) -> None:
    """Write the content given for each suffix: stem.csv and so on."""
    for suffix, content in files.items():
        path = stem.with_suffix(suffix)
        with atomic(path, "w") as file:
            file.write(content)
        logging.info("wrote %s", path)


def main(args: argparse.Namespace) -> None:
    write(args.table, measurements.load(args.measurements), args.source, args.out_dir)


if __name__ == "__main__":
    arguments = step.showing_parser(__doc__, out_dir="results")
    arguments.add_argument("--table", type=int, choices=list(TABLES), required=True)
    step.run(main, arguments)
