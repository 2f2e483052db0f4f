"""Pages of headings, paragraphs, lists and tables, as Markdown and as HTML.

A page is a list of blocks: (kind, content), kind one of h1, h2, p (str), ul (list[str]), table (DataFrame of str);
in HTML also pre (str).
"""

from __future__ import annotations

import html
from pathlib import Path

import pandas as pd

from workflow.lib.render import csv_text, html_document, html_list, save, scrolling

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
    return html_document(page[0][1], TEXT_CELLS, [_html(kind, content) for kind, content in page])


def _html(kind: str, content: str | list[str] | pd.DataFrame) -> str:
    if kind == "table":
        return scrolling(content.to_html(index=False, border=0, justify="left"))
    if kind == "ul":
        return html_list(content)
    return f"<{kind}>{html.escape(content)}</{kind}>"


def write(stem: Path, facts: pd.DataFrame, page: Page) -> None:
    """Write stem.csv from facts, and stem.md and stem.html from the page."""
    save({".csv": csv_text(facts), ".md": to_markdown(page), ".html": to_html(page)}, stem)
