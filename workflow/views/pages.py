"""Pages of headings, paragraphs, lists and tables, as Markdown and as HTML.

A page is a list of blocks (kind, content). The kinds h1, h2, p and, in HTML only, pre have a str; ul has a list of str;
table has a DataFrame of str.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

import pandas as pd

from workflow.views.render import csv_text, html_document, html_list, markdown_table, markdown_text, scrolling

Page = list[tuple[str, str | list[str] | pd.DataFrame]]
PREFIX = {"h1": "# ", "h2": "## ", "p": ""}
TEXT_CELLS = "td:nth-child(n) { text-align: left; white-space: normal }\np { max-width: 60em }\n"
MANY_PARTS = 3  # the least number of parts that a page lists before the first


def to_markdown(page: Page) -> str:
    return "\n\n".join(_markdown(kind, content) for kind, content in page) + "\n"


def _markdown(kind: str, content: str | list[str] | pd.DataFrame) -> str:
    if kind == "table":
        return markdown_table(content)
    if kind == "ul":
        return "\n".join(f"- {markdown_text(item)}" for item in content)
    return PREFIX[kind] + markdown_text(content)


def to_html(page: Page) -> str:
    """Return a page that needs no other file; its title is the first block."""
    return html_document(page[0][1], TEXT_CELLS, list(_html(page)))


def _html(page: Page) -> Iterator[str]:
    parts = [content for kind, content in page if kind == "h2"]
    head, number = "", 0
    for kind, content in page:
        if kind in ("h1", "h2"):
            head, number = content, number + (kind == "h2")
            if number == 1 and kind == "h2" and len(parts) >= MANY_PARTS:
                yield _contents(parts)
            yield f'<{kind} id="part{number}">{html.escape(content)}</{kind}>'
        elif kind == "table":
            yield scrolling(content.to_html(index=False, border=0, justify="left"), head)
        elif kind == "ul":
            yield html_list(content)
        elif kind == "pre":
            yield scrolling(f"<pre>{html.escape(content)}</pre>", head)
        else:
            yield f"<{kind}>{html.escape(content)}</{kind}>"


def _contents(parts: list[str]) -> str:
    """Return links to the parts of a page."""
    links = [f'<li><a href="#part{number}">{html.escape(part)}</a></li>' for number, part in enumerate(parts, start=1)]
    return "\n".join(['<nav aria-label="Contents"><ul>', *links, "</ul></nav>"])


def files(name: str, facts: pd.DataFrame, page: Page) -> dict[str, str]:
    """Return name.csv of the facts, and name.md and name.html of the page."""
    return {f"{name}.csv": csv_text(facts), f"{name}.md": to_markdown(page), f"{name}.html": to_html(page)}
