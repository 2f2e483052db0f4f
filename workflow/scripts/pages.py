"""Pages of headings, paragraphs, lists and tables, as Markdown and as HTML.

A page is a list of blocks: (kind, content), kind one of h1, h2, p (str), ul (list[str]), table (DataFrame of str).
"""

from __future__ import annotations

import html
import logging
from pathlib import Path

import pandas as pd

from kernels.datasets import atomic
from workflow.scripts.tables import STYLE

Page = list[tuple[str, str | list[str] | pd.DataFrame]]
PREFIX = {"h1": "# ", "h2": "## ", "p": ""}
TEXT_CELLS = "td:nth-child(n) { text-align: left; white-space: normal }\np { max-width: 60em }\n"


def to_markdown(page: Page) -> str:
    return "\n\n".join(_markdown(kind, content) for kind, content in page) + "\n"


def _markdown(kind: str, content: str | list[str] | pd.DataFrame) -> str:
    if kind == "table":
        return content.map(lambda cell: cell.replace("|", r"\|")).to_markdown(index=False, disable_numparse=True)
    if kind == "ul":
        return "\n".join(f"- {item}" for item in content)
    return PREFIX[kind] + content


def to_html(page: Page) -> str:
    """A page that stands alone; its title is the first block's."""
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(page[0][1])}</title>',
            f"<style>{STYLE}{TEXT_CELLS}</style>",
            *(_html(kind, content) for kind, content in page),
            "</html>\n",
        ]
    )


def _html(kind: str, content: str | list[str] | pd.DataFrame) -> str:
    if kind == "table":
        return content.to_html(index=False, border=0, justify="left")
    if kind == "ul":
        return "\n".join(["<ul>", *(f"<li>{html.escape(item)}</li>" for item in content), "</ul>"])
    return f"<{kind}>{html.escape(content)}</{kind}>"


def write(stem: Path, facts: pd.DataFrame, page: Page) -> None:
    """Write stem.csv from facts, and stem.md and stem.html from the page."""
    contents = {
        ".csv": facts.to_csv(index=False, lineterminator="\n", float_format="%.9g"),
        ".md": to_markdown(page),
        ".html": to_html(page),
    }
    for suffix, content in contents.items():
        path = stem.with_suffix(suffix)
        with atomic(path, "w") as file:
            file.write(content)
        logging.info("wrote %s", path)
