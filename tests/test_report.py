"""The report in a browser: what a reader finds by clicking, and that nothing outside it is asked for.

Made of the archive, where there is no GPU. With REQUIRE_CHROMIUM=1 a missing browser is a failure.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.image import imread
from test_workflow import ROOT, SIMULATOR, Project

from tests import browser
from tests.rows import STATE, record
from workflow.scripts import appendix

# The menu, the lists behind it, and a text on each page; a figure is an image, a CSV or JSON file is saved.
CONTENTS = {
    "1. Tables": {
        "Table 1": "Results of Bellman-Ford on US road networks dataset",
        "Table 2": "Results of Dijkstra's Algorithm on SNAP's gnutella network dataset",
        "Table 3": "Results of Floyd-Warshall",
    },
    "2. Figures": {"Figure 5": "image", "Figure 6": "image"},
    "3. Claims": {"Claims": "Stride is slower than Naive", "Claims at a glance": "image"},
    "4. Measurements": {"Summary": "95 % interval", "timings.csv": "saved"},
    "5. Provenance": {"Provenance": "Software", "provenance.json": "saved", "Simulator": "row checked"},
    "6. Configuration": {"Configuration": "warmup_launches"},
}
# No network to download from, were anything to be.
OFFLINE = SIMULATOR | dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    if not browser.find():
        why = "Chromium is not installed"
        (pytest.fail if os.environ.get("REQUIRE_CHROMIUM") == "1" else pytest.skip)(why)
    project = Project.make(tmp_path_factory.mktemp("report"), stub=False, mode="auto")
    project.snakemake(environment=OFFLINE)
    return project


@pytest.fixture(scope="module")
def page(project, tmp_path_factory):
    with browser.opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(scope="module", params=["html", "zip"])
def report(request, project, page, tmp_path_factory):
    """The report, opened where none of the project's files lies beside it."""
    made = project.folder / f"report.{request.param}"
    project.snakemake("--report", made.name, environment=OFFLINE)
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


def home(page):
    click(page, "document.querySelector('nav nav a')")


@pytest.mark.ci
def test_everything_is_found_in_the_readers_order(report, tmp_path):
    home(report)
    for category, results in CONTENTS.items():
        click(report, link(category))
        report.wait(f"!!{button(next(iter(results)), 'eye')}")
        listed = "[...document.querySelectorAll('nav tbody tr')].map(row => row.innerText.trim())"
        assert report.evaluate(listed) == list(results)
        for label, content in results.items():
            if content == "saved":
                assert report.evaluate(f"{button(label, 'eye')}.download") == label
                continue
            click(report, button(label, "eye"))
            if content == "image":
                report.wait("document.querySelector('#app img[src*=svg]:not(nav img)')?.naturalWidth > 300")
            else:
                report.wait_for_frame(content)
            report.screenshot(tmp_path / f"{label}.png")
            assert imread(tmp_path / f"{label}.png")[:, 400:].std() > 0.05  # right of the menu
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
    click(report, link("Workflow"))
    click(report, link("Table 3"))
    report.wait("document.querySelector('nav .prose')?.innerText.includes('Other formats are beside it')")
    home(report)
    click(report, link("Statistics"))
    report.wait("document.querySelectorAll('.vega-embed canvas, .vega-embed svg.marks').length == 2")
    assert report.errors == [] and report.requests == []


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


def test_a_broken_provenance_is_refused_in_one_line(tmp_path):
    broken = tmp_path / "naive.json"
    broken.write_text("{")
    command = [sys.executable, "-m", "workflow.scripts.appendix", "--provenance", str(broken), "--config", "{}"]
    ran = subprocess.run(
        [*command, "--source", "Here.", "--out-dir", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert re.fullmatch(rf"error: {broken}: .*: delete .*naive.csv and measure again\n", ran.stderr)
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
