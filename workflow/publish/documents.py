"""What the generated parts of README.md and docs/ share: markers, templates, and how numbers are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernels.errors import InputError
from workflow.views import render
from workflow.views.render import digits, time_text


def page_text(page: Path) -> str:
    """Return a page's text. Raises InputError if it is not UTF-8."""
    try:
        return page.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{page}: not a text file ({error})") from None


def fill(text: str, name: str, content: str, page: Path | str = "README.md") -> str:
    """Replace the text between the markers of that name; escape all HTML but <br>."""
    pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise InputError(f"{page}: the markers of {name} are missing: <!-- begin {name} --> and <!-- end {name} -->")
    shown = re.sub("<(?!br>)", "&lt;", content.strip())
    return pattern.sub(lambda markers: f"{markers[1]}{shown}\n{markers[2]}", text)


def narrow(table: pd.DataFrame) -> str:
    """Return a Markdown table without the spaces that would align it in an editor."""
    table = table.rename(columns=render.markdown_cell).map(render.markdown_cell)
    lines = [list(table.columns), [":--"] * len(table.columns), *table.to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def ends(values: Sequence) -> str:
    """Write the least and the greatest value: "3 to 5", or "3" if they are equal."""
    return " to ".join(dict.fromkeys([str(min(values)), str(max(values))]))


def listed(names: Sequence[str]) -> str:
    """Join names: "nyc, bay and col"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {
    "count": "{:,.0f}".format,
    "digits": digits,
    "ends": ends,
    "listed": listed,
    "narrow": narrow,
    "time": time_text,
}


def from_template(template: str, /, **values) -> str:
    """Fill templates/<template>.md.j2."""
    return TEMPLATES.get_template(f"{template}.md.j2").render(values).strip()
