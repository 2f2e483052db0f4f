"""How results are written: numbers as text; tables as CSV, Markdown, LaTeX and HTML."""

from __future__ import annotations

import html
import logging
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.datasets import atomic

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
.wide { overflow-x: auto }
ul { font-size: 13px; padding-left: 1.2em; max-width: 75em }
"""


def status_text(cell: pd.Series) -> str:
    """What stands for the time of a cell that has none."""
    if cell["status"] == "timeout":
        seconds = cell["limit_s"]
        for unit, length in (("h", 3600), ("min", 60)):
            if seconds % length == 0:
                return f">{seconds / length:g} {unit}"
        return f">{seconds:g} s"
    return cell["status"].replace("_", " ")


def cores(cell: pd.Series) -> str:
    """How many cores a CPU cell had; one, where it does not say."""
    return f"{cell['cores']:.0f} cores" if cell["cores"] > 1 else "one core"


def digits(number: float) -> str:
    """Three significant digits, or all before the point."""
    return f"{number:.0f}" if number >= 1000 else f"{number:#.3g}".rstrip(".")


def speed_up(ratio: float) -> str:
    """The text ", x1.51", with a proper cross; nothing where there is no ratio."""
    return "" if np.isnan(ratio) else f", {CROSS}{digits(ratio)}"


def to_markdown(title: str, text: pd.DataFrame, notes: list[str], numbers: Collection[str]) -> str:
    """numbers: the columns that stand on the right."""
    cells = text.map(lambda cell: cell.replace("|", r"\|").replace("\n", "<br>"))
    align = ["right" if head in numbers else "left" for head in text]
    body = cells.to_markdown(index=False, colalign=align, disable_numparse=True)
    return f"**{title}**\n\n{body}\n\n" + "".join(f"- {note}\n" for note in notes)


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


def html_page(title: str, text: pd.DataFrame, notes: list[str], numbers: list[int]) -> str:
    """numbers: which columns stand on the right, from 1."""
    cells = text.map(lambda cell: html.escape(cell).replace("\n", "<br>"))
    right = ", ".join(f"td:nth-child({number})" for number in numbers)
    shown = cells.style.hide(axis="index").set_caption(html.escape(title)).set_uuid("t")
    table = shown.to_html(cell_ids=False).rstrip()
    return html_document(title, f"{right} {{ text-align: right }}\n", [scrolling(table), html_list(notes)])


def scrolling(table: str) -> str:
    """A table that scrolls by itself where it is wider than the page."""
    return f'<div class="wide">{table}</div>'


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


def csv_text(facts: pd.DataFrame) -> str:
    return facts.to_csv(index=False, lineterminator="\n", float_format="%.9g")


def save(files: dict[str, str], stem: Path) -> None:
    """Write the content given for each suffix: stem.csv and so on."""
    for suffix, content in files.items():
        path = stem.with_suffix(suffix)
        with atomic(path, "w") as file:
            file.write(content)
        logging.info("wrote %s", path)
