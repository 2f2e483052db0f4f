"""Configure Sphinx: `make docs` builds README.md, docs/, the archives' tables and the library's reference, offline."""

import re
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
# The reference names the package as it is installed.
INSTALLED = Path(tempfile.mkdtemp(), "cuda_shortest_paths")
INSTALLED.symlink_to(ROOT / "kernels")
sys.path.insert(0, str(INSTALLED.parent))

project = "Shortest paths with CUDA"
author = "The cuda-shortest-paths developers"
copyright = author
extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
# The source folder is the repository, so that links between documents, tables and files are those that GitHub follows.
root_doc = "README"
include_patterns = ["*.md", "docs/**", "results/archive/*.md", "results/archive/*/*.md"]
exclude_patterns = ["dist", "logs", "resources", ".*", "results/batches", "results/cells", "tests"]
html_theme = "furo"
html_title = project
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
myst_heading_anchors = 4
numpydoc_show_class_members = False

CONTENTS = """
```{toctree}
:hidden:
:caption: CAPTION

PAGES
```
"""
ARCHIVE = "results/archive/README"
CAPTIONS = {
    "Use": [
        "docs/library",
        "docs/osmnx",
        "docs/travel-times",
        "docs/scipy",
        "docs/networkx",
        "docs/cupy",
        "docs/reference",
        "docs/restrictions",
        "docs/troubleshooting",
    ],
    "Check the paper": ["docs/results", "docs/reviewers", "docs/slurm", "docs/errata", "docs/data", ARCHIVE],
    "Understand": ["docs/method", "docs/kernels", "docs/performance"],
    "Contribute": ["docs/design", "docs/extending", "CONTRIBUTING", "CHANGELOG"],
}
# Only results/archive/README.md lists an archive's pages, which are too many for the sidebar.
OF_ARCHIVE = """---
orphan: true
hide-toc: true
---
# {card}: {title}

[All tables and figures](/results/archive/README.md#tables-and-figures)
"""


def adapt(app: Sphinx, page: str, source: list[str]) -> None:
    """Append the table of contents to README.md, and head an archive's page by its card and title."""
    if page.startswith("results/archive/") and page != ARCHIVE:
        head, rest = source[0].split("\n", 1)
        source[0] = OF_ARCHIVE.format(card=page.split("/")[2], title=re.sub(r"^# |\*\*", "", head)) + rest
    if page == root_doc:
        for caption, pages in CAPTIONS.items():
            source[0] += CONTENTS.replace("CAPTION", caption).replace("PAGES", "\n".join(pages))


def name_index(app: Sphinx, error: Exception | None) -> None:
    """Copy the first page to index.html."""
    if error is None:
        shutil.copyfile(Path(app.outdir, f"{root_doc}.html"), Path(app.outdir, "index.html"))


def setup(app: Sphinx) -> None:
    """Register the functions above."""
    app.connect("source-read", adapt)
    app.connect("build-finished", name_index)
