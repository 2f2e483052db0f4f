"""README.md and docs/ have no dead links and say what the archive says; the picture of the claims."""

import os
import re
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.collections import PolyCollection
from matplotlib.text import Text

from kernels.check import check
from kernels.errors import InputError
from kernels.graph import Graph
from kernels.registry import ALL_PAIRS_REVISION, VARIANTS, Variant
from kernels.run import Result, Run
from tests.support import many_sources, published
from tests.support.claims import CLAIMS, TOLERANCE, around, put
from tests.support.pages import blocks
from tests.support.pictures import legible, words
from tests.support.project import ENVIRONMENT
from tests.support.rows import SIZES, in_batches, measured, put_rows, rows_of
from tests.support.views import draw
from workflow.judge import claims, verdicts
from workflow.publish import documents, readme
from workflow.store import measurements
from workflow.views import plots
from workflow.views.paper import claims_figure
from workflow.views.render import CROSS, digits

ROOT = Path(__file__).parents[3]
ARCHIVES = sorted((path.relative_to(ROOT) for path in published.ARCHIVES), key=lambda path: path.name != "h200")
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
PAGES = [
    *(ROOT / name for name in ("README.md", "config/README.md", "results/archive/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SUBSTITUTE = {"substitute": "made_by_hand"}
NEAR_FAR, MULTI, BLOCKED = "delta_stepping/near_far", "bellman_ford/multi_source_apsp", "floyd_warshall/blocked"


@pytest.fixture(scope="module")
def generated():
    return readme.documents(ARCHIVES, CONFIG)


def test_what_is_generated_is_what_the_archive_says(generated):
    for page, parts in generated.items():
        text = filled = (ROOT / page).read_text()
        for marker, content in parts.items():
            filled = documents.fill(filled, marker, content, page)
        assert filled == text, f"{page}: run snakemake --cores 1 readme"


def test_every_marker_is_filled_by_the_script(generated):
    known = {(page, marker) for page, parts in generated.items() for marker in parts}
    found = [
        (str(page.relative_to(ROOT)), marker)
        for page in PAGES
        for marker in re.findall(r"^<!-- begin (\w+) -->$", page.read_text(), re.MULTILINE)
    ]
    assert sorted(found) == sorted({*known, ("results/archive/README.md", "columns")})


def anchors(page):
    """What GitHub makes of a page's headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} leads nowhere"
        assert not anchor or anchor in anchors(there), f"{there.name} has no heading #{anchor}"


def test_each_message_of_the_troubleshooting_page_exists():
    files = [ROOT / "Makefile", *(path for name in ("kernels", "workflow") for path in (ROOT / name).rglob("*.py"))]
    sources = re.sub(r"""["']\s*\n\s*f?["']""", "", "\n".join(path.read_text() for path in files))
    rows = re.findall(r"^\| `(.+?)` \|", (ROOT / "docs/troubleshooting.md").read_text(), re.MULTILINE)
    parts = {part.strip(" .:") for row in rows for part in row.split("…")} - {""}
    assert len(rows) > 10 and sorted(part for part in parts if part not in sources) == []


def judged(rows, *names):
    """Audit the claims of these ids, or all."""
    listed = [CLAIMS[name] for name in names or CLAIMS]
    return claims.audit(claims.select(rows.assign(throttling=""), listed), listed, TOLERANCE)


def test_what_was_not_measured_is_left_out_or_said(tmp_path):
    rows = measurements.load([])
    audited = judged(rows)
    text = readme.findings(tmp_path, rows, CONFIG)
    assert text.startswith("Times are medians") and "|" not in text and "substitute" not in text
    table = readme.claims_table({"card": audited}, TOLERANCE)
    assert cells_of(table, headed("tiled_best"))[1:] == ["as claimed", "not measured"]


ROADS, GNUTELLA = readme.ROADS, readme.GNUTELLA


def headed(claim):
    """Return how a table names the claim of an id."""
    return f"{CLAIMS[claim].number}. {CLAIMS[claim].claim}"


def cells_of(text, first):
    """The cells of the table row that begins so."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {first}")]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_findings_say_the_numbers_of_the_rows(tmp_path):
    cells = {("bellman_ford/naive", "nyc"): [6.0, 6.5, 7.0], ("bellman_ford/naive_graph", "nyc"): [1.5]}
    for size, dataset in enumerate(ROADS[:5], start=1):
        cells["bellman_ford/stride_flag", dataset] = [10.0 * size]
        cells["dijkstra/scipy", dataset] = [0.1, 0.1]
        cells[NEAR_FAR, dataset] = [0.002, 0.002, 0.002]
    for factor, dataset in enumerate(GNUTELLA, start=1):
        cells[MULTI, dataset] = [0.001 * factor]
        cells["floyd_warshall/tiled", dataset] = [factor * 3.0]
        cells["floyd_warshall/tiled_shared", dataset] = [1.0]
        cells["dijkstra/networkit_apsp", dataset] = [3.0]
        cells["edge/apsp", dataset] = [0.01]
    cells[BLOCKED, "gnutella30"] = [4.0]
    rows = in_batches(measured(tmp_path, {cell: (seconds, SUBSTITUTE) for cell, seconds in cells.items()}))
    ours = rows["variant"].isin(("multi_source_apsp", "near_far"))
    slow = ours & (rows["dataset"] == "gnutella04")
    rows = rows.assign(
        seconds=rows["seconds"].where(~ours, 2 * rows["seconds"]),  # half of it copies
        prepare_host_s=slow.map({True: 1.0, False: 0.0}),
        prepare_card_s=0.0,
        customize_s=0.0,
    )
    text = readme.findings(tmp_path, rows, CONFIG)

    assert cells_of(text, "Naive") == ["Naive", "528,691", "6.50 s", "1.50 s"]
    assert " at least 77 % " in text
    assert " 100 to 500 times " in text
    fast = ["SciPy on one core", "`near_far`", "speed-up over SciPy on one core", "`near_far`, kernels alone"]
    assert cells_of(text, "graph | Stride")[2:6] == fast
    for size, dataset in enumerate(ROADS[:5], start=1):
        row = cells_of(text, f"{dataset} † | {10 * size}.0 s")
        assert row[2:6] == ["100 ms", "4.00 ms", f"{CROSS}25.0", "2.00 ms"]
    assert "| e †" not in text and "; nyc, bay, col, fla and ne were measured before" in text
    for factor, dataset in enumerate(GNUTELLA, start=1):
        row = cells_of(text, f"{dataset} | 1.00 s")
        assert row[2:6] == ["3.00 s", "10.0 ms", f"{2 * factor}.00 ms", f"{CROSS}{digits(500 / factor)}"]
        assert row[6:] == [f"{factor}.00 ms", f"{CROSS}{digits(1000 / factor)}"]
    assert "Edge is faster than `multi_source_apsp` on gnutella04\n" in text
    rate = digits(SIZES.loc["gnutella30"].vertices ** 3 / 4 / 1e12)
    assert f"{rate} {CROSS} 10¹² relaxations" in text
    assert "GPU: test card.\nCPU: the libraries on test CPU.\n" in text and "The Gnutella graphs' weights" in text


def test_a_road_network_on_which_a_cited_program_is_faster_is_named(tmp_path):
    """The cited Wasp takes 3.81 ms on nyc, and 3.84 ms on bay. No batch measured what is compared."""
    cells = {}
    for dataset, seconds in (("nyc", 0.0039), ("bay", 0.0036)):
        cells |= {(NEAR_FAR, dataset): [seconds], ("dijkstra/scipy", dataset): [1.0]}
        cells["bellman_ford/stride_flag", dataset] = [10.0]
    for variant in (MULTI, "floyd_warshall/tiled_shared", "dijkstra/networkit_apsp"):
        cells[variant, "gnutella04"] = [1.0]
    rows = in_batches(measured(tmp_path, {cell: (seconds, {}) for cell, seconds in cells.items()}))
    rows.loc[rows["variant"].isin(("scipy", "tiled_shared")), "batch"] += "Z"
    text = readme.findings(tmp_path, rows, CONFIG)
    assert "from vertex 0 on nyc" in text and "vertex 0 on bay" not in text
    assert cells_of(text, "nyc")[-1] == "Wasp, 3.81 ms" and cells_of(text, "bay")[-1] == "Wasp, 3.84 ms"
    assert cells_of(text, "nyc")[4] == "-" and cells_of(text, "gnutella04")[-1] == "-"
    now = str(VARIANTS[NEAR_FAR].revision)
    for nyc, grid, before in (("1", now, ["nyc", "bay"]), (now, "1", [])):
        both = pd.concat([rows.assign(revision=nyc), rows.assign(dataset="grid2000", revision=grid)])
        assert readme.measured_before(both, NEAR_FAR) == before


def in_archive(folder):
    """The file of searches from many sources."""
    (folder / "many_sources").mkdir(exist_ok=True)
    return folder / "many_sources/all.csv"


def test_all_pairs_of_road_networks_are_those_of_whole_searches(tmp_path):
    nyc, e = (SIZES.loc[name].vertices for name in ("nyc", "e"))
    lines = []
    for name, repeat, seconds, sources in (
        *(("nyc", 1, 0.1, nyc), ("nyc", 2, 0.2, nyc), ("bay", 1, 7.0, 1000), ("e", 1, 20.0, e)),
    ):
        line = {"search_s": seconds, "sources": sources, "order_s": 1.0, "tree_s": 0.5, "customize_s": 0.002}
        lines.append(many_sources.row("reduced", repeat, name, **line))
    pd.DataFrame(lines).assign(revision=ALL_PAIRS_REVISION).to_csv(in_archive(tmp_path), index=False)
    rows = measurements.load([])
    text = readme.findings(tmp_path, rows, CONFIG)
    assert cells_of(text, "nyc") == ["nyc", "150 ms (n = 2)", "1.50 s", "2.00 ms"]
    assert cells_of(text, "e ") == ["e", "20.0 s (n = 1)", "1.50 s", "2.00 ms"] and "| bay" not in text
    pd.DataFrame(lines).assign(revision=1).to_csv(in_archive(tmp_path), index=False)
    assert "last change" in readme.findings(tmp_path, rows, CONFIG) and "last change" not in text


def test_speed_ups_over_scipy_of_one_call_and_newer_times_of_preparing_are_those_of_library_times(tmp_path):
    lines = [many_sources.row("reduced", 1, name, sources=SIZES.loc[name].vertices) for name in ("nyc", "e")]
    pd.DataFrame(lines).assign(revision=1).to_csv(in_archive(tmp_path), index=False)
    cells = {cell: ([0.1], {}) for cell in ((NEAR_FAR, "nyc"), ("bellman_ford/stride_flag", "nyc"))}
    rows = measured(tmp_path, cells | {("dijkstra/scipy", "nyc"): ([1.0], {})})
    calls = pd.read_csv(ARCHIVES[0] / "library_times.csv")
    calls = calls[~((calls["dataset"] == "e") & (calls["what"] == readme.PREPARING))]
    for what, seconds in ((readme.NEW_ARRAY, 0.2), (readme.SCIPY, 0.5), (readme.PREPARING, 0.25)):
        calls.loc[(calls["what"] == what) & (calls["dataset"] == "nyc"), "seconds"] = seconds
    calls.to_csv(tmp_path / "library_times.csv", index=False)
    text = readme.findings(tmp_path, rows, CONFIG)
    assert "2.50 times as fast as SciPy's call on nyc (200 ms, SciPy 500 ms)" in text
    row = next(line for line in text.splitlines() if line.startswith("| nyc") and "(n = 1)" in line)
    assert "| 250 ms (n = 5) |" in row
    assert cells_of(text, "e ")[2] == "1.25 s"


def test_where_the_papers_program_differs_the_table_says_so(generated):
    """On gnutella04 our Super Naive Shared is faster than Super Naive, and the paper's program has no direction."""
    table = generated["README.md"]["claims"]
    numbers = [CLAIMS[name].number for name in ("super_naive_best", "super_naive_shared")]
    assert [line.split(".")[0] for line in table.splitlines() if " § |" in line] == [f"| {n}" for n in numbers]
    assert re.search("on gnutella04 .* within 5 % of 1", table)


def test_the_papers_tables_are_read_exactly_and_as_the_audit_reads_them(generated):
    def verdicts_in(part, column):
        rows = [line.strip("| ").split(" | ") for line in part.splitlines() if re.match(r"\| \d", line)]
        return {re.match(r"\d+", row[0])[0]: re.sub(" +", " ", row[column]).strip() for row in rows}

    audited = verdicts_in(generated["docs/results.md"]["claims"], 1)
    tiled, large = (str(CLAIMS[name].number) for name in ("tiled_factor", "stride_large"))
    assert audited[tiled] == "as claimed: all 3" and audited[large].endswith(": all 3")
    assert cells_of(generated["README.md"]["claims"], headed("tiled_factor"))[1] == "as claimed"
    assert cells_of(generated["README.md"]["claims"], headed("stride_large"))[1] == "not as claimed"
    for archive in ARCHIVES:
        page = (archive / "claims.md").read_text()
        exactly = verdicts_in(page[page.index("| Read exactly") :], 1)
        assert set(exactly) < set(audited) and not [claim for claim in exactly if exactly[claim] == audited[claim]]
        assert exactly[tiled] == "more: gnutella04; less: gnutella25, gnutella30"
        assert exactly[large] == "opposite: fla; as claimed: ne, e"
        table = re.sub(" +", " ", page)
        assert all(
            re.search(rf"^\| {claim}\. .+\({re.escape(verdict)}\) \| ", table, re.M)
            for claim, verdict in audited.items()
        )


def test_two_cards_stand_side_by_side():
    times = {("bellman_ford/stride_flag", "nyc"): 1.0, ("bellman_ford/naive", "nyc"): 2.0}
    three = {("bellman_ford/naive", "nyc"): 3.0}
    one, other = (judged(in_batches(rows_of(times | more)), "flag_factor") for more in ({}, three))
    nothing = judged(in_batches(rows_of({})), "flag_factor")

    def verdicts_on(**cards):
        return cells_of(readme.claims_table(cards, TOLERANCE), headed("flag_factor"))[2:]

    less = "not as claimed (5 undecided)"
    assert verdicts_on(A=one, B=other) == verdicts_on(A=one, B=one) == [less, less]
    assert verdicts_on(A=one, B=nothing) == [less, "not measured"]
    text = readme.by_claim({"A": one, "B": other})
    assert re.search(r"\b1 .* A and B\. 0 .*, 1 ", text)
    assert f"{CLAIMS['flag_factor'].number} on nyc: A less, B more" in text
    assert cells_of(text, "Claim") == ["Claim", "Paper's tables", "A", "B"]
    tables, *on_cards = cells_of(text, headed("flag_factor"))[1:]
    assert tables.startswith("less: nyc, bay")
    assert [cell.split("; ")[0] for cell in on_cards] == ["less: nyc ‡", "more: nyc ‡"]
    assert "decided on both" not in readme.by_claim({"A": one})
    assert "so far: C." in readme.by_claim({"A": one}, ["C"])


def test_a_mixed_verdict_says_on_how_many_graphs_the_claim_holds():
    times = {(f"bellman_ford/{name}", at): 1.0 for name in ("stride", "naive") for at in ("nyc", "bay")}
    rows = in_batches(rows_of(times | {("bellman_ford/stride", "nyc"): 2.0}))
    row = cells_of(readme.claims_table({"A": judged(rows, "stride_small")}, TOLERANCE), headed("stride_small"))
    assert row[1:] == ["as claimed on 1 of 3 graphs", "as claimed on 1 of 3 graphs (1 undecided)"]


def test_where_cards_differ_it_is_said_whether_their_intervals_overlap():
    times = {("bellman_ford/stride", "nyc"): 1.0, ("bellman_ford/naive", "nyc"): 1.0}

    def line(*ratios):
        cards = {}
        for name, around_it in zip("AB", ratios, strict=True):
            factors = [{"bellman_ford/stride": around_it * by} for by in (0.99, 1.0, 1.01)]
            cards[name] = judged(in_batches(rows_of(times), factors=factors), "stride_small")
        (line,) = readme.compared(cards)[1]
        return line

    on_nyc = f"claim {CLAIMS['stride_small'].number} on nyc"
    assert line(1.04, 1.0) == f"{on_nyc} (the intervals overlap): A as claimed, B no difference"
    assert line(1.1, 1.0) == f"{on_nyc}: A as claimed, B no difference"


def test_a_card_whose_batches_decide_nothing_has_no_column(tmp_path):
    files = [path for path in measurements.files("results/archive/h200") if path.parent.name == "gnutella04"]
    found = [row for path in files for row in measurements.schema().text([path])]
    found = [row for row in found if row["algorithm"] == "floyd_warshall"]
    for name, device in (("one", "NVIDIA H200"), ("other", "NVIDIA H100 80GB HBM3")):
        rows = [row | ({"device": device} if row["driver"] else {}) for row in found]
        if name == "other":
            rows = [row for row in rows if row["batch"] in ("A", "B")]
        put_rows(rows, tmp_path / name)
    found = readme.documents([tmp_path / "one", tmp_path / "other"], CONFIG)
    assert "| H200 |\n" in found["README.md"]["claims"] and "H100" not in found["README.md"]["claims"]
    assert "so far: H100." in found["docs/results.md"]["claims"]


def test_every_table_and_figure_of_the_archives_is_linked():
    page = (ROOT / "results/archive/README.md").read_text()
    made = [path for archive in ARCHIVES for path in archive.iterdir() if path.suffix in (".md", ".png")]
    assert len(made) > 30 and not [path for path in made if page.count(f"]({path.parent.name}/{path.name})") != 1]


def table_rows(page, head):
    """The cells of the rows below a table's head in a page of docs/, by their first cell."""
    text = (ROOT / "docs" / page).read_text().split(f"| {head} |", 1)[1]
    lines = text.split("\n\n", 1)[0].splitlines()[2:]
    return {
        cells[0].strip(" †"): cells[1:] for line in lines if (cells := [cell.strip() for cell in line[1:-1].split("|")])
    }


LIMITED = {  # kernels whose results, 8 bytes for each pair, take a copy at COPY_RATE at least
    "edge/apsp",
    "dijkstra/block_apsp",
    "delta_stepping/block_apsp",
    "bellman_ford/multi_source_apsp",
}
COPY_RATE, CYCLE_RATE, MULTIPROCESSORS = 4.3e12, 1.98e9, 132
RATED = ("super_naive", "blocked16")  # the rows that give the rates of relaxations in 32 and in 16 bits
SECTIONS = (  # the kernels of each section of docs/kernels.md that has a bound
    ("bellman_ford/naive", *(f"floyd_warshall/{name}" for name in ("super_naive", "tiled", "tiled_shared"))),
    ("edge/apsp", "dijkstra/block_apsp", "delta_stepping/block_apsp"),
    ("delta_stepping/near_far",),
    ("bellman_ford/multi_source_apsp",),
    ("floyd_warshall/blocked", "floyd_warshall/blocked16"),
    ("hierarchies, rows of distances", "hierarchies, eccentricities", "hierarchy/sssp"),
)


def parts_of_bounds():
    """Return the part of its bound that each kernel reaches, in percent, from the archive, by kernel and graph."""
    rows = published.archived_rows("h200")
    rows = measurements.pooled(rows[rows["kernels_s"].notna()])
    medians = measurements.summarise(rows.assign(seconds=rows["kernels_s"]))["median"]
    whole = measurements.summarise(rows.assign(seconds=rows["kernels_s"] + rows["predecessors_s"]))["median"]
    peak = pd.read_csv(ARCHIVES[0] / "peak.csv").fillna({"vertices": 0})
    peak = peak.assign(rate=peak["relaxations"] / peak["seconds"]).groupby(["benchmark", "bits", "vertices"])["rate"]
    peak = peak.median()
    chains = peak["chains"].droplevel("vertices")
    many = pd.concat(pd.read_csv(path) for path in (ARCHIVES[0] / "many_sources").glob("*.csv"))
    hierarchy = many.assign(s=many["search_s"] / many["sources"]).groupby(["kind", "dataset"]).median(numeric_only=True)
    dense, vertices = "a dense matrix of 32,768 vertices", SIZES["vertices"]

    parts = {
        f"bellman_ford/{name}": {
            "nyc": medians[f"bellman_ford/{name}_graph", "nyc"] / medians[f"bellman_ford/{name}", "nyc"]
        }
        for name in ("naive", "stride_flag")
    }
    for name in ("super_naive", "tiled", "tiled_shared"):
        rate = float(vertices["gnutella30"]) ** 3 / medians[f"floyd_warshall/{name}", "gnutella30"]
        parts[f"floyd_warshall/{name}"] = {"gnutella30": rate / chains[32]}
    for name, bits in (("blocked", 32), ("blocked16", 16)):
        parts[f"floyd_warshall/{name}"] = {dense: peak["dense", bits, 32768] / chains[bits]}
    at = "random65536"
    parts["floyd_warshall/staged"] = {at: medians["floyd_warshall/blocked", at] / medians["floyd_warshall/staged", at]}
    for name in LIMITED:
        parts[name] = {at: 8 * float(vertices[at]) ** 2 / COPY_RATE / whole[name, at] for at in GNUTELLA}
    search = medians["delta_stepping/near_far", "nyc"]
    parts["delta_stepping/near_far"] = {"nyc": 1199 * 1250 / CYCLE_RATE / search}
    for kind, name in (("rows", "hierarchies, rows of distances"), ("reduced", "hierarchies, eccentricities")):
        found = hierarchy.loc[kind].loc[["nyc", "e"]]
        writing = 4 * found["vertices"] / COPY_RATE
        cycles = found["hierarchy_arcs"] / 32 / MULTIPROCESSORS / CYCLE_RATE
        parts[name] = dict((writing if kind == "rows" else cycles) / found["s"])
    arcs = hierarchy.loc["rows"]["hierarchy_arcs"]
    parts["hierarchy/sssp"] = {at: 8 * arcs[at] / COPY_RATE / medians["hierarchy/sssp", at] for at in ("nyc", "e")}
    return chains, {name: {at: round(100 * part) for at, part in by.items()} for name, by in parts.items()}


def test_limits_and_times_of_ell_on_the_pages_are_the_archives():
    chains, parts = parts_of_bounds()
    said = table_rows("performance.md", "kernel | bound | reached")
    found = {
        name.strip("`"): {at.strip(" †,"): int(part) for at, part in re.findall(r"(.+?) (\d+) %", reached)}
        for name, (_, reached) in said.items()
    }
    assert found == parts
    rates = [float(re.search(rf"([\d.]+) {CROSS} 10¹²", said[f"`floyd_warshall/{name}`"][0])[1]) for name in RATED]
    assert rates == [float(f"{chains[bits] / 1e12:.1f}") for bits in (32, 16)]

    page = " ".join((ROOT / "docs/kernels.md").read_text().split())
    bounds = re.findall(r"\*\*Bound\.\*\* (.*?) (?=## )", page)
    assert len(bounds) == 6
    for text, names in zip(bounds, SECTIONS, strict=True):
        known = {part for name in names for part in parts[name].values()}
        assert set(map(int, re.findall(r"(\d+)(?= %| to \d+ %)", text))) <= known, text

    archived = published.archived_rows("h200")
    page = table_rows("performance.md", "µs an iteration (archive) | CSR | ELL")
    typed = {name: list(map(float, cells)) for name, cells in page.items()}
    for column, name in enumerate(("stride", "stride_ell")):
        rows = archived[measurements.variants(archived) == f"bellman_ford/{name}"]
        rows = measurements.pooled(rows[rows["dataset"].isin(typed)])
        iterations = rows["launches"] // 2
        us = rows.assign(seconds=1e6 * rows["kernels_s"] / iterations)
        medians = measurements.summarise(us).loc[f"bellman_ford/{name}"]["median"]
        assert {dataset: float(digits(medians[dataset])) for dataset in typed} == {
            dataset: values[column] for dataset, values in typed.items()
        }


def test_the_numbers_of_sources_for_which_a_hierarchy_pays_follow_from_the_archived_calls():
    """F / (s - r), as docs/kernels.md says; F without preparing is what a call for two sources takes besides them."""
    page = table_rows(
        "kernels.md", "state of the hierarchy | rows of distances | eccentricities | distances to targets"
    )
    calls = readme.library_calls(ARCHIVES[0] / "library_times.csv")["median"]
    once = {}
    for dataset in ("nyc", "e"):
        of = calls.xs(dataset, level="dataset")
        s, prepare = of["a row of distances by near_far, of 128"], of[readme.PREPARING]
        lay_out = of["laying out a prepared hierarchy, from its file"]
        for kind, many in (("a row of distances", "128"), ("an eccentricity", "4,096")):
            r = of[f"{kind} in a hierarchy, of {many}"]
            fixed = 2 * (of[f"{kind} in a hierarchy, of 2"] - r)
            for state, before in zip(page, (prepare + lay_out, lay_out, 0), strict=True):
                once.setdefault((state, kind), []).append(f"{float(f'{(before + fixed) / (s - r):.2g}'):.0f}")
    for state, (rows, eccentricities, _) in page.items():
        for cell, kind in ((rows, "a row of distances"), (eccentricities, "an eccentricity")):
            assert cell.split(", **")[0] == " and ".join(once[state, kind])


def test_nothing_is_written_where_a_page_lacks_its_markers(tmp_path):
    (tmp_path / "a.md").write_text("<!-- begin x -->\nold\n<!-- end x -->\n")
    (tmp_path / "b.md").write_text("nothing\n")
    with pytest.raises(InputError, match=r"b\.md: the markers of y are missing"):
        readme.write({"a.md": {"x": "new"}, "b.md": {"y": "new"}}, tmp_path)
    assert "old" in (tmp_path / "a.md").read_text()
    readme.write({"a.md": {"x": r"new \1"}}, tmp_path)
    assert (tmp_path / "a.md").read_text() == "<!-- begin x -->\nnew \\1\n<!-- end x -->\n"


def test_the_sizes_of_substitutes_stand_beside_the_papers(tmp_path):
    rows = measured(tmp_path, {(NEAR_FAR, "nyc"): ([1.0], SUBSTITUTE), ("dijkstra/scipy", "bay"): ([1.0], {})})
    assert re.search(r"^\| nyc \| [\d,]+ \| [\d,]+ \| 264,346 \| 733,846 \|$", readme.sizes(rows), re.MULTILINE)
    assert "bay" not in readme.sizes(rows)


def test_no_line_starts_as_a_comment_of_myst():
    """Sphinx leaves out the rest of a paragraph after such a line."""
    starts = [(page.name, line) for page in PAGES for line in page.read_text().splitlines() if re.match(" *%", line)]
    assert starts == []


def test_results_has_the_claimed_ranges():
    page = (ROOT / "docs/results.md").read_text()
    for claim in (claim for claim in CLAIMS.values() if claim.valued and not claim.by_seconds):
        low, high = claim.factors[verdicts.CLAIMED]
        assert f"{low:g} to {high:g} for" in page.replace("\n", " ")


def test_the_readmes_answer_is_the_archives():
    said = " ".join((ROOT / "README.md").read_text().split())
    listed = list(CLAIMS.values())
    audited = {path.name: claims.audit(published.archived_rows(path.name), listed, TOLERANCE) for path in ARCHIVES}
    words = [claims.outcome(one.from_batches) for one in audited["h200"]]
    hold, fail, some = (words.count(word) for word in (verdicts.CLAIMED, verdicts.NOT_CLAIMED, verdicts.MIXED))
    counts = f"{hold} of the paper's {len(CLAIMS)} claims hold, {fail} do not hold and {some} hold on some graphs only"
    assert hold + fail + some == len(CLAIMS) and counts in said
    both, differing = readme.compared(audited)
    decided = [
        finding for ones in audited.values() for one in ones for finding in claims.deciding(one.from_batches).values()
    ]
    assert both > 30 and differing == [] and min(finding.estimate.batches for finding in decided) == 3
    on_h200 = [finding for one in audited["h200"] for finding in one.from_batches.values()]
    assert all(finding.decided for finding in on_h200)
    assert f"all {len(on_h200)} verdicts on single graphs are decided. On an H100, {both} of them are decided" in said

    whole = pd.read_csv(ARCHIVES[0] / "all_pairs.csv").set_index("dataset").loc["nyc_time"]
    takes, preparing = whole["search_s"], whole["order_s"] + whole["tree_s"]
    assert f"all {whole['vertices']:,} crossings takes {takes:.2f} s" in said
    assert f"of the graph is prepared once. This takes {preparing:.2f} s" in said


def test_numbers_of_the_readmes_findings_are_those_of_the_results(generated):
    """Each number beside a unit or a name, and in the same finding."""
    page = (ROOT / "README.md").read_text()
    words = " ".join(page.split())
    said = page[page.index("## What else was found") : page.index("## When not to use it")]
    shown = generated["docs/results.md"]["findings"].split("### ")
    for finding in re.findall(r"^\*\*(.+?)\*\* (.*?)\n\n", said, re.MULTILINE | re.DOTALL):
        head, text = (" ".join(part.split()).removesuffix(".") for part in finding)
        (section,) = [part for part in shown if part.startswith(head.split(",")[0])]
        numbers = re.findall(r"\b[\d.,]*\d (?:ms|s|%)|\b\d{3},\d{3}\b", text)
        assert numbers and not [number for number in numbers if number not in section], head
    vertices = SIZES["vertices"]["gnutella30"]
    assert f"{vertices**2 / 1e9:.1f} billion" in said
    kept, once = re.findall(r"\b([\d.]+) times as fast", words)
    (section,) = [part for part in shown if part.startswith("From one source")]
    assert cells_of(section, "nyc")[4] == f"{CROSS}{kept}" and f"{once} times as fast as SciPy's call on nyc" in section


# The examples of README.md.


def readme_block(first):
    """The indented block of README.md that begins so."""
    blocks = re.findall(r"(?:^    .*\n)+", (ROOT / "README.md").read_text(), re.MULTILINE)
    (block,) = [textwrap.dedent(block) for block in blocks if block.strip().startswith(first)]
    return block


def test_the_example_of_the_library_prints_what_the_page_shows(capsys):
    page = (ROOT / "README.md").read_text()
    (code,), (shown,) = (
        re.findall(rf"^```{kind}\n(.*?)^```", page, re.MULTILINE | re.DOTALL) for kind in ("python", "text")
    )
    exec(code, {})
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("command", readme_block("python -m kernels").splitlines())
def test_the_commands_of_the_library_run(command, tmp_path):
    words = [str(ROOT / word) if "/" in word else word for word in command.split()[1:]]
    environment = os.environ | ENVIRONMENT | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


# The picture of the claims.


STRIDES = {("bellman_ford/stride", "nyc"): around(12), ("bellman_ford/naive", "nyc"): around(10)}
STRIDES |= {("bellman_ford/stride_flag", "nyc"): around(8)}


@cache
def drawn(substitutes=()):
    """The figure of all claims, and its texts, of two cards with the times of STRIDES; not to be changed."""
    listed = list(CLAIMS.values())
    with TemporaryDirectory() as folder:
        rows = claims.select(in_batches(measurements.load(put(Path(folder), STRIDES))), listed)
    audited = claims.audit(rows, listed, TOLERANCE)
    with plots.styled():
        figure = claims_figure.draw_claims({"A": audited, "B": audited}, substitutes, TOLERANCE, "A caption.")
        figure.draw_without_rendering()
    return figure, [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def test_a_line_of_the_picture_has_the_estimates_the_claimed_range_and_the_verdicts():
    figure, texts = drawn()
    (axes,) = figure.axes
    places = {}
    for text in axes.texts:
        places.setdefault(text.xy[1], []).append(text.get_text())
    graphs = {tick.get_loc(): tick.label1.get_text() for tick in axes.yaxis.get_major_ticks()}
    lines = {tuple(said): y for y, said in places.items()}
    headings = [said for said in lines if len(said) == 1 and said[0][0].isdigit()]
    assert [number.split(". ", 1)[1] for (number,) in headings] == [claim.claim for claim in CLAIMS.values()]
    factor = next(y for (said, *_), y in lines.items() if said.startswith("5. ")) + 1
    assert (graphs[factor], places[factor]) == ("nyc", ["less ‡", "less ‡"])  # 1.25 times where 2.8 is claimed
    assert (graphs[factor + 1], places[factor + 1]) == ("bay", ["not measured", "not measured"])
    first = next(y for (said, *_), y in lines.items() if said.startswith("1. ")) + 1
    assert (graphs[first], places[first]) == ("nyc", ["as claimed ‡", "as claimed ‡"])

    def at(y):
        """The places of a line's marks along the axis, by mark."""
        marks = [line for line in axes.lines if line.get_marker() != "None" and abs(line.get_ydata()[0] - y) < 0.5]
        return {line.get_marker(): line.get_xdata()[0] for line in marks}

    looks = *claims_figure.OF_PAPER.values(), *claims_figure.OF_CARDS[:2]
    paper, program, one, other = (look.marker for look in looks)
    times = measurements.paper_times()["seconds"].xs("nyc", level="dataset")
    assert at(factor)[paper] == pytest.approx(times["bellman_ford/naive"] / times["bellman_ford/stride_flag"])
    assert at(factor)[one] == at(factor)[other] == pytest.approx(1.25)
    assert 1.05 < at(factor)[program] < 1.09  # workflow/paper/original-batches.csv
    assert set(at(factor + 1)) == {paper, program}
    shaded = {}
    for patch in axes.collections:
        if isinstance(patch, PolyCollection):
            box = patch.get_paths()[0].get_extents()
            shaded[box.y0 + 0.5] = (box.x0, box.x1)
    assert shaded[factor] == pytest.approx((2.75, 2.85))
    assert shaded[first] == pytest.approx((axes.get_xlim()[0], 1))
    assert {"A caption.", "A", "B", *claims_figure.OF_PAPER} <= {text.get_text() for text in texts}


def test_substitutes_stand_apart_in_the_picture():
    figure, _ = drawn(("nyc", "e"))
    (axes,) = figure.axes
    heights = {text.get_text(): text.xy[1] for text in axes.texts}
    heights |= {tick.label1.get_text(): tick.get_loc() for tick in axes.yaxis.get_major_ticks()}
    assert heights[claims_figure.REAL] < heights["bay"] < heights[claims_figure.REPLACED] < heights["nyc †"]
    assert "nyc" not in heights and heights["3. " + CLAIMS["stride_largest"].claim] > heights[claims_figure.REPLACED]
    real, _ = drawn()
    assert claims_figure.REPLACED not in {text.get_text() for text in real.axes[0].texts}


@pytest.mark.parametrize("substitutes", [(), ("nyc", "e")])
def test_no_text_of_the_picture_touches_another_or_the_edge(substitutes):
    legible(drawn(substitutes)[0], across=True)


def test_the_picture_has_the_cards_of_the_other_archives_that_decide_a_claim(tmp_path):
    cells = put(tmp_path / "here", STRIDES)
    for name, batches, device in (("decides", "abc", "NVIDIA H100"), ("few", "ab", "NVIDIA B200")):
        rows = [row | {"device": device} for path in cells for row in measurements.schema().text([path])]
        places = [{"batch": batch, "host_id": "0000000a", "card_uuid": f"GPU-{batch}"} for batch in batches]
        put_rows([row | place for place in places for row in rows], tmp_path / name)
    files = {"archives": [tmp_path / "decides", tmp_path / "few"]}
    draw("claims_figure", in_batches(measurements.load(cells)), tmp_path, formats=["svg"], files=files)
    said = words((tmp_path / "claims.svg").read_bytes())
    assert "H100" in said and "B200" not in said


def test_the_picture_is_written_in_the_formats_asked_for(tmp_path):
    rows = measurements.load(put(tmp_path / "cells", {("bellman_ford/naive", "nyc"): [1.0]}))
    draw("claims_figure", rows, tmp_path, formats=["png", "svg"])
    assert {path.suffix for path in tmp_path.glob("claims.*")} == {".png", ".svg"}
    assert "<text" not in (tmp_path / "claims.svg").read_text()  # text as paths


# The example of docs/extending.md.


@pytest.mark.simulator
def test_the_example_of_a_variant_runs(monkeypatch):
    function, entry = blocks("extending.md")
    module = ModuleType("kernels.fast.quarter")
    module.__package__ = "kernels.fast"
    exec(function, vars(module))
    monkeypatch.setitem(sys.modules, "kernels.fast.quarter", module)
    variant = eval(entry, {"Variant": Variant})
    rng = np.random.default_rng(1)
    graph = Graph.from_arcs(11, rng.integers(0, 11, 40), rng.integers(0, 11, 40), rng.integers(1, 9, 40))
    result, run = Result.poisoned(variant.problem, graph.vertices), Run(block=4)
    variant.function(graph, result, run)
    assert check(graph, variant.problem, result, 0, full_check=11, checked_rows=11)
    assert run.launches == variant.launches(graph.vertices, 32)
