"""The report in a browser: what a reader finds by clicking, and that nothing outside it is asked for; its own pages.

Made of the archive, where there is no GPU. With REQUIRE_CHROMIUM=1 a missing browser is a failure.
"""

import io
import json
import shutil
from pathlib import Path
from zipfile import ZipFile

import pandas as pd
import pytest
from matplotlib.image import imread

from kernels.errors import InputError
from tests.support import browser, published
from tests.support.cells import cells
from tests.support.claims import CLAIMS
from tests.support.project import ROOT, SIMULATOR, Project
from tests.support.rows import STATE, in_batches, record, rows_of
from tests.support.views import draw
from workflow.judge import claims
from workflow.store import measurements
from workflow.views import appendix, pages
from workflow.views.paper import batches_table, glance
from workflow.views.render import CROSS

ARCHIVE = ROOT / "results/archive/h200"
BATCH = "K"  # one of the archive's that is taken for this machine's, to compare
MOST_BYTES = 8_000_000

# The menu, the lists behind it, and a text on each page; a figure is an image, a file of another kind is saved.
CONTENTS = {
    "1. Claims": {
        "At a glance": f"Of the paper's {len(CLAIMS)} claims",
        "At a glance, drawn": "image",
        "Each claim": "Stride is slower than Naive",
    },
    "2. Tables": {
        "Table 1": "Results of Bellman-Ford on US road networks dataset",
        "Table 2": "Results of Dijkstra's Algorithm on SNAP's gnutella network dataset",
        "Table 3": "Results of Floyd-Warshall",
    },
    "3. Figures": {"Figure 5": "image", "Figure 6": "image"},
    "4. Batches and hosts": {
        "Batches and hosts": "fa2e7aeb",
        "Provenance": "Software",
        "Simulator": "row checked",
    },
    "5. Measurements": {"measurements.zip": "saved", "Summary": "95 % interval"},
    "6. All pairs": {"All pairs": "All pairs of road networks", "All pairs, drawn": "image"},
    "7. Beside the archive": {"Beside the archive": "This machine beside the archive h200"},
    "8. Extensions": {
        **{"Figure 8": "image", "Figure 9": "image", "Growth": "Growth of the time", "Growth, drawn": "image"},
        "Table 6": "Ours",
    },
    "9. Configuration": {"Configuration": "warmup_launches"},
}
OURS = {  # the pages that we write, by their files in results/
    *("all_pairs", "batches", "claims", "compare", "configuration", "glance", "provenance", "simulated", "summary"),
    *("table1", "table2", "table3", "table6", "growth"),
}
# No network to download from, were anything to be.
OFFLINE = SIMULATOR | dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    browser.require()
    project = Project.make(tmp_path_factory.mktemp("report"), stub=False, mode="auto", whole_archives=True)
    batch = take_batch(project.folder / "results/batches" / BATCH)
    project.snakemake("compare", environment=OFFLINE)
    shutil.rmtree(batch)
    project.snakemake("all", "all_pairs", environment=OFFLINE)
    return project


def take_batch(folder):
    """Copy the archive's BATCH into a folder, as if this machine had measured it."""
    return shutil.copytree(ARCHIVE / "batches" / BATCH, folder)


@pytest.fixture(scope="module")
def page(project, tmp_path_factory):
    with browser.opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module", params=["html", "zip"])
def report(request, project, page, tmp_path_factory):
    """The report, opened where none of the project's files lies beside it."""
    made = project.folder / f"report.{request.param}"
    project.snakemake("made", "--report", made.name, environment=OFFLINE)
    assert made.stat().st_size < MOST_BYTES
    folder = tmp_path_factory.mktemp("moved")
    if request.param == "zip":
        shutil.unpack_archive(made, folder)
        page.open(folder / "report" / "report.html")
    else:
        page.open(Path(shutil.move(made, folder)))
    return page


def link(text):
    return f"[...document.querySelectorAll('a')].find(a => a.innerText.trim() == {text!r})"


def button(label, icon):
    row = f"[...document.querySelectorAll('nav tr')].find(row => row.innerText.trim() == {label!r})"
    return f"{row}?.querySelector('a[iconname={icon}]')"


def click(page, element):
    page.wait(f"!!({element})")
    page.evaluate(f"{element}.click()")


LISTED = "[...document.querySelectorAll('nav tbody tr')].map(row => row.innerText.trim())"
DETAILS = "document.querySelector('nav')"


def home(page):
    click(page, "document.querySelector('nav nav a')")


@pytest.mark.ci
def test_everything_is_found_in_the_readers_order(report, tmp_path):
    home(report)
    for category, results in CONTENTS.items():
        click(report, link(category))
        report.wait(f"!!{button(next(iter(results)), 'eye')}")
        assert report.evaluate(LISTED) == list(results)
        for label, content in results.items():
            if content == "saved":
                assert report.evaluate(f"{button(label, 'eye')}.download") == label
                continue
            click(report, button(label, "eye"))
            if content == "image":
                report.wait("document.querySelector('#app img[src*=svg]:not(nav img)')?.naturalWidth > 300")
                assert report.evaluate(
                    "document.querySelector('#app img:not(nav img)').getBoundingClientRect().top >= 0"
                )
            else:
                report.wait_for_frame(content)
            report.screenshot(tmp_path / f"{label}.png")
            assert imread(tmp_path / f"{label}.png")[:, 400:].std() > 0.03  # right of the menu
        home(report)
    menu = (
        "[...document.querySelectorAll('nav li')].map(item => item.innerText.trim()).filter(text => /^\\d/.test(text))"
    )
    assert report.evaluate(menu) == list(CONTENTS)
    assert report.errors == [] and report.requests == []


@pytest.mark.ci
def test_each_result_has_a_caption(report):
    home(report)
    for category, results in CONTENTS.items():
        for label in results:
            click(report, link(category))
            click(report, button(label, "information-circle"))
            report.wait("document.querySelector('nav .prose')?.innerText.length > 40")
            home(report)
    assert report.errors == [] and report.requests == []


@pytest.mark.ci
def test_the_first_page_leads_to_results_code_and_run_times(report):
    home(report)
    report.wait(f"document.querySelector('.prose table')?.innerText.includes('{CROSS}')")
    heads = "[...document.querySelectorAll('.prose th')].map(head => head.innerText)"
    assert report.evaluate(heads) == ["No.", "Claim", "The paper's tables", "H200", "H100", "Verdict"]
    assert report.evaluate("document.querySelectorAll('.prose tbody tr').length") == len(CLAIMS)
    for menu in ("nav", ".prose"):
        home(report)
        click(report, f"[...document.querySelectorAll('{menu} a')].find(a => a.innerText.trim() == 'Statistics')")
        report.wait("document.querySelectorAll('.vega-embed canvas, .vega-embed svg.marks').length == 2")
        click(report, "[...document.querySelectorAll('nav a')].find(a => a.innerText.trim() == 'Workflow')")
        report.wait("!!document.querySelector('.prose table')")
    assert report.errors == [] and report.requests == []


@pytest.mark.ci
def test_the_graph_of_the_steps_is_on_a_page_of_its_own(report):
    home(report)
    click(report, "[...document.querySelectorAll('nav a')].find(a => a.innerText.trim() == 'Workflow')")
    seen = (
        "['#rulegraph canvas, #rulegraph svg', '.prose table'].map(at => document.querySelector(at)?.checkVisibility())"
    )
    for name, graph, table in (("Workflow", True, False), ("All results", False, True)):
        report.wait(f"{seen}.join() == '{not graph},{not table}'.toLowerCase()")
        click(report, link(name).replace("'a'", "'.prose a'"))
        report.wait(f"{seen}.join() == '{graph},{table}'.toLowerCase()")
    assert report.errors == [] and report.requests == []


@pytest.mark.ci
def test_links_of_the_first_page_open_lists_and_results(report):
    home(report)
    for category, results in CONTENTS.items():  # one after the other, without a way back to the menu
        click(report, f"[...document.querySelectorAll('.prose a')].find(a => a.innerText == {category!r})")
        report.wait(f"{LISTED}.join() == {','.join(results)!r}")
    for results in CONTENTS.values():
        for label, content in results.items():
            home(report)
            click(report, f"[...document.querySelectorAll('.prose a')].find(a => a.innerText == {label!r})")
            if content == "image":
                report.wait("document.querySelector('#app img[src*=svg]:not(nav img)')?.naturalWidth > 300")
            elif content == "saved":
                report.wait(f"{DETAILS}?.innerText.includes({label!r})")
            else:
                report.wait_for_frame(content)
    assert report.errors == [] and report.requests == []


@pytest.mark.ci
def test_parameters_of_a_result_are_short(report):
    assert report.evaluate("Math.max(...Object.values(results).map(one => one.job_properties.params.length))") < 250


@pytest.mark.ci
def test_on_a_phone_the_menu_leaves_the_width_to_the_results(report):
    home(report)
    report.show_as(width=390)
    try:
        content = "document.querySelector('#app > div > .grow').getBoundingClientRect()"
        report.wait(f"{content}.width == 390 && {content}.height > 400")
        report.wait("document.querySelector('.prose')?.innerText.includes('made for desktops')")
    finally:
        report.show_as()


@pytest.fixture(scope="module")
def own(project, page):
    """The pages that we write; the browser shows pages as before afterwards."""
    paths = sorted((project.folder / "results").glob("*.html"))
    assert {path.stem for path in paths} == OURS
    yield paths
    page.show_as()


@pytest.mark.ci
def test_no_page_of_ours_is_wider_than_400_pixels(own, page):
    page.show_as(width=400)
    for path in own:
        page.open(path)
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [400, 400], path.name
        assert page.errors == [] and page.requests == []


# Of all text of a page the least contrast with what is behind it, by the formula of WCAG 2; and how light the page is.
CONTRAST = """(() => {
    const light = color => color.match(/[\\d.]+/g).slice(0, 3)
        .map(part => part / 255).map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
        .reduce((sum, part, i) => sum + part * [.2126, .7152, .0722][i], 0)
    const behind = element => {
        const color = getComputedStyle(element).backgroundColor
        return color == 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : color
    }
    const texts = [...document.querySelectorAll('main *')].filter(
        element => [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim()))
    const ratios = texts.map(element => [getComputedStyle(element).color, behind(element)].map(light))
        .map(pair => pair.sort((one, other) => other - one))
    return [Math.min(...ratios.map(([more, less]) => (more + .05) / (less + .05))), light(behind(document.body))]
})()"""


@pytest.mark.ci
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(own, page, scheme):
    page.show_as(scheme=scheme)
    for path in own:
        page.open(path)
        contrast, light = page.evaluate(CONTRAST)
        assert contrast >= 4.5, path.name
        assert (light > 0.5) == (scheme == "light"), path.name


@pytest.mark.ci
def test_pages_of_ours_need_no_mouse(own, page):
    page.show_as(width=400)
    focused = "document.activeElement"
    for path in own:
        page.open(path)
        hidden = page.evaluate(
            "[...document.querySelectorAll('*')].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth"
            " && !['visible', 'hidden'].includes(getComputedStyle(e).overflowX)).map(e => e.ariaLabel)"
        )
        reached = []
        for _ in range(page.evaluate("document.querySelectorAll('a, [tabindex]').length")):
            page.press("Tab")
            assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid", path.name
            if page.evaluate(f"{focused}.tagName") == "A":
                continue
            name = page.evaluate(f"{focused}.role == 'region' && {focused}.ariaLabel")
            assert name
            reached.append(name)
            if name in hidden:
                page.press("ArrowRight")
                page.wait(f"{focused}.scrollLeft > 0")
        assert [name for name in reached if name in hidden] == hidden, path.name


@pytest.mark.ci
def test_a_link_leads_to_its_part_by_the_keyboard(own, page):
    page.show_as(width=400)
    (claims_page,) = [path for path in own if path.stem == "claims"]
    page.open(claims_page)
    page.evaluate("[...document.querySelectorAll('nav a')].at(-1).focus()")
    page.press("Enter")
    last = len(CLAIMS) + 2  # two other readings follow the claims
    top = f"document.querySelector('#part{last}').getBoundingClientRect().top"
    page.wait(f"location.hash == '#part{last}' && {top} >= 0 && {top} < innerHeight")


def test_provenance_reads_cells_as_it_reads_an_archive(tmp_path):
    cell = record("dijkstra/cpu", "nyc", commit="0123456789" * 4)
    card = {"before": STATE, "after": STATE | {"throttling": ["power cap"]}}
    on_gpu = record("dijkstra/naive", "nyc", card, commit="0123456789" * 4, tree_clean=True)
    paths = [tmp_path / "cpu.json", tmp_path / "naive.json"]
    for path, said in zip(paths, (cell, on_gpu), strict=True):
        path.write_text(json.dumps(said))
    archive = tmp_path / "provenance.json"
    archive.write_text(json.dumps({"dijkstra/cpu/nyc": cell, "dijkstra/naive/nyc": on_gpu}))
    runs = appendix.choose(appendix.read(paths), appendix.RUNS)
    assert runs.equals(appendix.choose(appendix.read([archive]), appendix.RUNS))
    assert runs.to_dict("list") == {
        **{"Algorithm": ["dijkstra"] * 2, "Variant": ["cpu", "naive"], "Dataset": ["nyc"] * 2},
        **{"Commit": ["012345678901"] * 2, "Tree clean": ["-", "yes"], "Throttled after": ["-", "power cap"]},
        **{"Digest of the configuration": [""] * 2, "MHz before": ["-", "1,900"], "MHz after": ["-", "1,900"]},
        **{"°C before": ["-", "40"], "°C after": ["-", "40"], "Throttled before": ["-", "no"]},
    }


def test_a_broken_provenance_is_refused(tmp_path):
    broken = tmp_path / "naive.json"
    broken.write_text("{")
    rows = [broken.with_suffix(".csv")]
    with pytest.raises(InputError, match=f"{broken}: .*naive.csv"):
        draw("appendix", measurements.load([]), tmp_path, files={"rows": rows}, config={"archive": "h200"})
    assert list(tmp_path.iterdir()) == [broken]


@pytest.mark.ci
def test_an_error_and_a_request_are_noted(page, tmp_path):
    inner = "<script>console.error('inner')</script><img src='http://inner.example/'>"
    (tmp_path / "bad.html").write_text(
        f"<script>console.error('said')</script><script>throw Error('thrown')</script>"
        f'<img src="http://outer.example/"><iframe src="data:text/html,{inner}"></iframe>'
    )
    page.open(tmp_path / "bad.html")
    page.wait_for_frame("")
    noted = " ".join(page.errors)
    assert all(word in noted for word in ("said", "thrown", "inner"))
    assert sorted(page.requests) == ["http://inner.example/", "http://outer.example/"]


FLAG, NAIVE = ("bellman_ford/stride_flag", "nyc"), ("bellman_ford/naive", "nyc")


def audited(seconds, batches):
    """Two of the claims, judged on Stride with Flag and Naive on nyc, which took 1 s and so many."""
    listed = [CLAIMS[name] for name in ("stride_largest", "flag_factor")]
    rows = in_batches(rows_of({FLAG: 1.0, NAIVE: seconds}), batches, [{NAIVE[0]: 1.0}, {NAIVE[0]: 1.001}] * 2)
    return claims.audit(claims.select(rows, listed), listed, 0.05)


def test_claims_at_a_glance():
    """A column a card; the verdict is that of each card with batches enough."""
    few, decided = audited(2.8, "a"), audited(2.8, "abc")
    number, said = 1, ["No.", "A", "B", "Verdict"]  # the second row
    assert glance.table({"A": decided, "B": few}).loc[number, said].to_list() == [
        *(
            str(CLAIMS["flag_factor"].number),
            f"{CROSS}2.80 on 1 of 6 graphs",
            f"{CROSS}2.80 on 1 of 6 graphs, too few batches",
        ),
        "as claimed ‡ (1 of 6 decided)",
    ]
    assert glance.table({"A": few, "B": decided}).loc[number, "Verdict"] == "B: as claimed ‡ (1 of 6 decided)"
    assert glance.table({"A": few, "B": few}).loc[number, "Verdict"] == "too few batches"
    both = glance.table({"A": audited(2.0, "abc"), "B": decided})
    assert both.loc[number, "Verdict"] == "A: not as claimed ‡ (1 of 6 decided); B: as claimed ‡ (1 of 6 decided)"
    assert both.loc[0, ["The paper's tables", "A"]].to_list() == ["as claimed: 2.41 s", "not measured"]


def test_batches_are_listed_by_name_with_hosts_and_cards(tmp_path):
    rows = in_batches(rows_of({FLAG: 1.0, ("bellman_ford/cpu", "nyc"): 9.0}), ["AA", "B"])
    rows["cores"] = rows["cores"].where(rows["driver"] != "", 16)
    draw("batches_table", pd.concat([rows, rows_of({NAIVE: 1.0})], ignore_index=True), tmp_path)
    head, *body = cells(".md", (tmp_path / "batches.md").read_text())
    assert head == list(batches_table.HEADS.values())
    day, end = "2026-01-01", ["no", "0123456789ab"]
    assert body == [
        ["-", day, "-", "-", "-", "test card", "-", "580.1", "nyc", "1", "2", *end],
        ["B", day, "hostB", "-", "16", "test card", "B", "580.1", "nyc", "2", "4", *end],
        ["AA", day, "hostAA", "-", "16", "test card", "AA", "580.1", "nyc", "2", "4", *end],
    ]


@pytest.mark.parametrize("archive", sorted(ARCHIVE.parent.glob("*/batches.md")), ids=lambda path: path.parent.name)
def test_an_archive_lists_its_batches(archive, tmp_path):
    rows = published.archived_rows(archive.parent.name)
    draw("batches_table", rows, tmp_path, source=f"From the archive {archive.parent.name}.")
    for name in ("batches.csv", "batches.md"):
        assert (tmp_path / name).read_text() == archive.with_name(name).read_text()


def test_without_measurements_there_are_pages_too():
    none = measurements.load([])
    table, page = appendix.claims_at_a_glance(none, {}, "Nothing measured.", 0.05)
    assert set(table["Verdict"]) == {"not measured"} and "CPU: Nothing measured." in pages.to_html(page)
    assert "<table" not in pages.to_html([("h1", "Batches"), *batches_table.table(none)])


def test_the_measurements_are_packed_under_their_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("results/one").mkdir(parents=True)
    Path("results/one/timings.csv").write_text("a,b\n")
    packed = appendix.packed([Path("results/one/timings.csv").resolve()])
    with ZipFile(io.BytesIO(packed)) as archive:
        assert archive.namelist() == ["results/one/timings.csv"]
        assert archive.read("results/one/timings.csv") == b"a,b\n"


def test_a_page_of_several_parts_has_links_to_them():
    parts = [("h2", "One & all"), ("p", "x"), ("h2", "Two"), ("h2", "Three")]
    page = pages.to_html([("h1", "Title"), *parts])
    for number, part in enumerate(("One &amp; all", "Two", "Three"), start=1):
        assert f'<a href="#part{number}">{part}</a>' in page and f'<h2 id="part{number}">{part}</h2>' in page
    assert page.index("<h1") < page.index("<nav") < page.index("<h2")
    assert "<nav" not in pages.to_html([("h1", "Title"), *parts[:3]])
