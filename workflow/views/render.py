"""Write results: numbers as text; tables as CSV, Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np
import pandas as pd

from workflow.judge import verdicts
from workflow.judge.batches import JOBS

CROSS = "\N{MULTIPLICATION SIGN}"
REGION = "the paper's timed region"
RATIOS = "the geometric mean over batches of the ratios within a job. There is no ratio if no job measured both."
PREPARING = (
    "Order, tree: preparing on one core, once for a set of arcs: nested dissection, then the elimination tree. "
    "Customize: once for a set of weights, on the card."
)
ALONE = "All cells were measured alone, so our times have no ratios."
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #222; --rule: #ccc; --link: #0b57d0 }
@media (prefers-color-scheme: dark) {
  :root { --paper: #17191c; --ink: #e4e4e4; --rule: #4a4d52; --link: #8ab4f8 }
}
html { background: var(--paper); color: var(--ink) }
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; overflow-wrap: anywhere }
a { color: var(--link) }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
table { border-collapse: collapse; border-block: 2px solid; overflow-wrap: normal }
caption { font-weight: bold; text-align: left; padding: 0 max(0px, 100% - 90vw) .6em 0 }
th, td { padding: .35em .6em; text-align: left; vertical-align: top }
th[colspan]:not(:empty), thead tr:last-child th { border-bottom: 1px solid }
tbody tr + tr { border-top: 1px solid var(--rule) }
td { font-variant-numeric: tabular-nums }
.wide {
  overflow-x: auto;
  background:
    linear-gradient(to right, var(--paper) 50%, transparent) left / 2em 100% local no-repeat,
    linear-gradient(to left, var(--paper) 50%, transparent) right / 2em 100% local no-repeat,
    linear-gradient(to right, #888a, transparent) left / .8em 100% no-repeat,
    linear-gradient(to left, #888a, transparent) right / .8em 100% no-repeat;
}
.wide > table { font-size: 12px; width: max-content; max-width: max(100%, 60em) }
ul { font-size: 13px; padding-left: 1.2em; max-width: 75em }
nav ul { columns: 24em }
@media (max-width: 40em) {
  body { margin: 1em }
  h1 { font-size: 1.4em }
  h2 { font-size: 1.2em }
  tr > :first-child { position: sticky; left: 0; max-width: 10em; background: var(--paper) }
}
"""


def status_text(cell: pd.Series) -> str:
    """Return the text in place of the time of a cell that is not ok."""
    if cell["status"] == "timeout":
        seconds = cell["limit_s"]
        for unit, length in (("h", 3600), ("min", 60)):
            if seconds % length == 0:
                return f">{seconds / length:g} {unit}"
        return f">{seconds:g} s"
    return cell["status"].replace("_", " ")


def cores(cell: pd.Series) -> str:
    """Return how many cores a CPU cell had; one if it was not recorded."""
    return f"{cell['cores']:.0f} cores" if cell["cores"] > 1 else "one core"


def digits(number: float) -> str:
    """Return three significant digits, or all before the point."""
    return f"{number:.0f}" if number >= 999.5 else f"{number:#.3g}".rstrip(".")


def time_text(seconds: float) -> str:
    """Write a time with three digits, in milliseconds below a second."""
    return f"{digits(1e3 * seconds)} ms" if seconds < 1 else f"{digits(seconds)} s"


def time_and_range(seconds: float, least: float, most: float) -> str:
    """Write a time and its range: "1.49 ms (1.47 ms to 1.52 ms)"; without the range if least and most are equal."""
    return time_text(seconds) + (f" ({time_text(least)} to {time_text(most)})" if least < most else "")


def or_dash(number: float, form: Callable[[float], str] = digits) -> str:
    """Return the number as text; "-" for NaN."""
    return "-" if np.isnan(number) else form(number)


def ratio(value: float) -> str:
    """Return digits(value), with a fourth digit if it rounds to 1: the side of 1 that it lies on decides."""
    text, longer = digits(value), f"{value:.4g}"
    return longer if text == "1.00" and longer != "1" else text


def medians_of(what: str) -> str:
    """Return sentences on what the times of a table are."""
    return f"median and range of {what}, over n runs or, if there are several batches, over their medians. {JOBS}"


def runs(cell: pd.Series) -> str:
    """Return how often a cell was measured: "n=6", of several batches "3 batches, n=9"."""
    batches = f"{cell['batches']:.0f} batches, " if cell["batches"] > 1 else ""
    return f"{batches}n={cell['repeats']:.0f}"


def spread(cell: pd.Series, text: Callable[[float], str] = digits) -> str:
    """Return "5.69 to 5.72, 3 batches, n=9" for a cell. `text` formats a time."""
    return f"{text(cell['min'])} to {text(cell['max'])}, {runs(cell)}" if cell["repeats"] > 1 else runs(cell)


def ends(estimate: verdicts.Estimate, text: Callable[[float], str] = ratio) -> str:
    """Return the interval, " [30.0, 33.1]", or the range of two batches, " (30.0 to 33.1)"; empty for one batch."""
    low, high = text(estimate.low), text(estimate.high)
    return f" [{low}, {high}]" if estimate.has_interval else f" ({low} to {high})" if estimate.batches > 1 else ""


def estimated(estimate: verdicts.Estimate) -> str:
    """Return a ratio with its interval or range: "31.5 [30.0, 33.1]"."""
    return ratio(estimate.value) + ends(estimate)


def compared(name: str, other: str, estimate: verdicts.Estimate, tolerance: float) -> str:
    """Return the speed-up of `name` over `other` in words, decided with the tolerance of verdicts.directions."""
    word = verdicts.decide(estimate, verdicts.directions(tolerance))
    if word == "faster":
        return f"{name} is {estimated(estimate)} times faster than {other}"
    if word == "slower":
        inverse = replace(estimate, value=1 / estimate.value, low=1 / estimate.high, high=1 / estimate.low)
        return f"{other} is {estimated(inverse)} times faster than {name}"
    if word == verdicts.SAME:
        return f"no difference between {name} and {other} ({CROSS}{estimated(estimate)})"
    if word == verdicts.FEW:
        number = "one batch" if estimate.batches == 1 else f"{estimate.batches} batches"
        return f"{name} over {other}: {CROSS}{estimated(estimate)}, {number}, too few for a verdict"
    return f"{estimate.batches} batches do not tell whether {name} or {other} is faster ({CROSS}{estimated(estimate)})"


def speed_up(times: float) -> str:
    """Return ", x1.51" with a proper cross; nothing for NaN."""
    return "" if np.isnan(times) else f", {CROSS}{digits(times)}"


def markdown_text(text: str) -> str:
    """Escape HTML in a text of Markdown; a line break becomes <br>."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\n", "<br>")


def markdown_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return markdown_text(text).replace("|", r"\|")


def markdown_table(text: pd.DataFrame, numbers: Collection[str] = ()) -> str:
    """Return a table in Markdown. The columns `numbers` are aligned on the right."""
    align = ["right" if head in numbers else "left" for head in text]
    cells = text.rename(columns=markdown_cell).map(markdown_cell)
    return cells.to_markdown(index=False, colalign=align, disable_numparse=True)


def to_markdown(title: str, text: pd.DataFrame, notes: list[str], numbers: Collection[str]) -> str:
    """Return a title, a table and a list of notes. The columns `numbers` are aligned on the right."""
    lines = "".join(f"- {markdown_text(note)}\n" for note in notes)
    return f"**{markdown_text(title)}**\n\n{markdown_table(text, numbers)}\n\n{lines}"


def html_page(title: str, text: pd.DataFrame, notes: list[str], numbers: list[int]) -> str:
    """Return a page with one table and its notes. The columns at `numbers`, from 1, are aligned on the right."""
    cells = text.map(lambda cell: html.escape(cell).replace("\n", "<br>"))
    right = ", ".join(f"td:nth-child({number})" for number in numbers)
    shown = cells.style.hide(axis="index").set_caption(html.escape(title)).set_uuid("t")
    table = shown.to_html(cell_ids=False).rstrip()
    return html_document(title, f"{right} {{ text-align: right }}\n", [scrolling(table, title), html_list(notes)])


def scrolling(content: str, label: str) -> str:
    """Return content that scrolls by itself if it is wider than the page, by the arrow keys too.

    `label` is what a screen reader announces.
    """
    return f'<div class="wide" role="region" aria-label="{html.escape(label)}" tabindex="0">{content}</div>'


def html_document(title: str, style: str, body: list[str]) -> str:
    """Return a page that needs no other file. `style` has rules beyond those of all pages, `body` blocks of HTML."""
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{STYLE}{style}</style>",
            "<main>",
            *body,
            "</main>\n</html>\n",
        ]
    )


def html_list(items: list[str]) -> str:
    return "\n".join(["<ul>", *(f"<li>{html.escape(item)}</li>" for item in items), "</ul>"])


def csv_text(facts: pd.DataFrame) -> str:
    return facts.to_csv(index=False, lineterminator="\n", float_format="%.9g")


def table_files(
    title: str, text: pd.DataFrame, facts: pd.DataFrame, notes: list[str], numbers: Collection[str]
) -> dict[str, str]:
    """Return a table by suffix: the facts as CSV, the text with its notes as Markdown and HTML."""
    right = [place for place, head in enumerate(text, start=1) if head in numbers]
    page = html_page(title, text, notes, right)
    return {".csv": csv_text(facts), ".md": to_markdown(title, text, notes, numbers), ".html": page}


def stacked(*parts: pd.DataFrame) -> pd.DataFrame:
    """Concatenate the parts that have rows; the first part if none has."""
    return pd.concat([part for part in parts if len(part)] or [parts[0]])
