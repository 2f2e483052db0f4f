"""The measured parts of the pages for users: docs/library.md, scipy.md, networkx.md and cupy.md, from an archive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from workflow.lib.documents import narrow, spread, time_text
from workflow.lib.measurements import marked, substitutes
from workflow.lib.render import digits
from workflow.scripts import library_times_table
from workflow.scripts.library_times_table import What

ALIKE = 1.25  # two times are called alike where the longer one is less than so many times the shorter one
# What is compared: the words, ours, the other.
FIRST = (
    "The first answer of a process, machine code of the wheel, beside a search by SciPy alone",
    What.INSTALLED,
    What.SCIPY_TREE,
)
NEW = "A new array, beside SciPy", What.NEW_ARRAY, What.SCIPY
LEFT = "Left on the card, beside copied to the host", What.ON_CARD, What.SOLVER
# By page: its marker, the kinds of call in its table, and what is compared in words.
PAGES = {
    "docs/library.md": (
        "library_times",
        (
            *(What.INSTALLED, What.COMPILED, What.KEPT, What.COMMAND),
            *(What.SAME_GRAPH, What.SOLVER, What.ON_CARD, What.KERNELS),
            *(What.SCIPY_TREE, What.ON_HOST, What.TO_CARD, What.ROW, What.ROW_OF_SO_MANY),
            *(What.PREPARING, What.LAYING_OUT),
            *(What.ROW_OF_MANY, What.ROW_OF_FEW, What.SOURCE_OF_MANY, What.SOURCE_OF_FEW),
        ),
        (FIRST, ("A later call, with a solver, beside SciPy", What.SOLVER, What.SCIPY_TREE), LEFT),
    ),
    "docs/scipy.md": (
        "scipy_times",
        (
            *(What.INSTALLED, What.INSTALLED_FLOATS, What.COMPILED, What.KEPT),
            *(What.NEW_ARRAY, What.SAME_ARRAY, What.SAME_ARRAY_TREE),
            *(What.NEW_FLOATS, What.SAME_FLOATS),
            *(What.SCIPY, What.SCIPY_TREE, What.SCIPY_FLOATS),
        ),
        (
            FIRST,
            NEW,
            ("The same array again, beside SciPy", What.SAME_ARRAY, What.SCIPY),
            ("The same array again, with predecessors, beside SciPy", What.SAME_ARRAY_TREE, What.SCIPY_TREE),
            ("A new array, weights not whole, beside SciPy", What.NEW_FLOATS, What.SCIPY_FLOATS),
            ("The same array again, weights not whole, beside SciPy", What.SAME_FLOATS, What.SCIPY_FLOATS),
        ),
    ),
    "docs/networkx.md": (
        "networkx_times",
        (
            *(What.NETWORKX_LENGTHS, What.LENGTHS_NEW, What.LENGTHS_SAME),
            *(What.NETWORKX_PATHS, What.PATHS_NEW, What.PATHS_SAME),
        ),
        (
            ("Lengths alone, a new graph, beside NetworkX", What.LENGTHS_NEW, What.NETWORKX_LENGTHS),
            ("Lengths alone, the same graph again, beside NetworkX", What.LENGTHS_SAME, What.NETWORKX_LENGTHS),
            ("Lengths and paths, a new graph, beside NetworkX", What.PATHS_NEW, What.NETWORKX_PATHS),
            ("Lengths and paths, the same graph again, beside NetworkX", What.PATHS_SAME, What.NETWORKX_PATHS),
        ),
    ),
    "docs/cupy.md": (
        "cupy_times",
        (
            *(What.INSTALLED, What.COMPILED, What.KEPT),
            *(What.NEW_ARRAY, What.SOLVER, What.ON_CARD, What.KERNELS),
            *(What.SCIPY, What.SCIPY_TREE),
        ),
        (FIRST, NEW, ("Left on the card, beside SciPy", What.ON_CARD, What.SCIPY_TREE), LEFT),
    ),
}


def load_times(path: Path) -> pd.DataFrame:
    """The rows of library_times.csv; none where there is no such file."""
    return library_times_table.load([path] if path.exists() else [])


def not_measured(archive: str) -> str:
    return f"Not measured: the archive `{archive}` has none of it. `snakemake --cores 1 library_times` measures it."


def origin(rows: pd.DataFrame, archive: str) -> str:
    """A paragraph: on what, of which code and when the rows were measured, and what the substitutes are."""
    cards, drivers, hosts, commits = (
        ", ".join(dict.fromkeys(rows[column])) for column in ("device", "driver", "cpu_model", "commit")
    )
    days = sorted({started[:10] for started in rows["started"]})
    said = [
        f"From the archive `{archive}`: {cards}, driver {drivers}, in a host with {hosts}",
        " to ".join(dict.fromkeys([days[0], days[-1]])),
        *([f"commit {commits[:12]}"] if commits else []),
    ]
    others = "; ".join(f"{name}, {text}" for name, text in substitutes(rows).items())
    marks = f" † A [substitute](data.md#the-substitutes): {others}." if others else ""
    return f"{', '.join(said)}.{marks}"


def table(times: pd.DataFrame, kinds: Sequence[str], others: dict[str, str]) -> str:
    """Markdown: a row a kind of call that was measured, a column a dataset.

    times: as library_times_table.summary gives them.
    """
    datasets = dict.fromkeys(dataset for what, dataset in times.index if what in kinds)
    measured, lines = [what for what in kinds if what in times.index], []
    for what in measured:
        line = {"What": what}
        for dataset in datasets:
            cell = times.loc[(what, dataset)] if (what, dataset) in times.index else None
            line[marked(dataset, others)] = "-" if cell is None else f"{time_text(cell['median'])}, {spread(cell)}"
        lines.append(line)
    return narrow(pd.DataFrame(lines))


def beside(times: pd.DataFrame, words: str, ours: str, other: str, others: dict[str, str]) -> str:
    """A line of a list: on which datasets ours is faster or slower than the other; empty where it is unknown."""
    found: dict[str, list[str]] = {}
    for what, dataset in times.index:
        if what == ours and (other, dataset) in times.index:
            factor = times["median"][other, dataset] / times["median"][ours, dataset]
            word, shown = in_words(factor)
            found.setdefault(word, []).append(f"{marked(dataset, others)} (factor {shown})")
    said = "; ".join(f"{word} on {', '.join(datasets)}" for word, datasets in found.items())
    return f"- {words}: {said}." if said else ""


def in_words(factor: float) -> tuple[str, str]:
    """What it means that the other takes so many times as long as ours, and the factor to show."""
    if factor >= ALIKE:
        return "faster", digits(factor)
    if factor <= 1 / ALIKE:
        return "slower", digits(1 / factor)
    return "about as fast", digits(factor)


def share_of_paths(times: pd.DataFrame, others: dict[str, str]) -> str:
    """A line of a list: what part of the backend's call with the same graph builds the paths; else empty."""
    said = []
    for what, dataset in times.index:
        if what == What.PATHS_SAME and (What.LENGTHS_SAME, dataset) in times.index:
            share = 1 - times["median"][What.LENGTHS_SAME, dataset] / times["median"][what, dataset]
            said.append(f"{100 * share:.0f} % on {marked(dataset, others)}")
    if not said:
        return ""
    return (
        f"- With the same graph again the paths take {', '.join(said)} of the call: Python's lists of nodes are built "
        "on the host, with the backend as without it."
    )


def of_calls(rows: pd.DataFrame, page: str, archive: str) -> str:
    """Markdown of a page's table of times, and what it says in words. rows: as load_times gives them."""
    _, kinds, compared = PAGES[page]
    rows = rows[rows["what"].isin(kinds)]
    if rows.empty:
        return not_measured(archive)
    times, others = library_times_table.summary(rows), substitutes(rows)
    lines = [beside(times, *pair, others) for pair in compared]
    lines += [share_of_paths(times, others)] if page == "docs/networkx.md" else []
    parts = [
        table(times, kinds, others),
        f"Medians, [range] and number of repeats. About as fast: neither takes {ALIKE} times as long as the other.",
        "\n".join(filter(None, lines)),
        origin(rows, archive),
    ]
    return "\n\n".join(filter(None, parts))


def documents(times: pd.DataFrame, archive: str) -> dict[str, dict[str, str]]:
    """By page, the content of each marker."""
    return {page: {marker: of_calls(times, page, archive)} for page, (marker, *_) in PAGES.items()}
