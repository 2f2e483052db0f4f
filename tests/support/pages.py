"""The code blocks of the pages in docs/."""

import re
import sys
from pathlib import Path

import kernels

sys.modules.setdefault("cuda_shortest_paths", kernels)  # the name that the pages import
DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str = "python") -> list[str]:
    """Return a page's code blocks of a language."""
    return blocks_of((DOCS / page).read_text(), language)


def blocks_of(text: str, language: str = "python") -> list[str]:
    """Return the code blocks of a language in Markdown, without their indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    return [re.sub(f"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def block(page: str, start: str, language: str = "python") -> str:
    """Return the only block that starts with this text."""
    (found,) = [code for code in blocks(page, language) if code.startswith(start)]
    return found
