"""The HTML documents in a browser. With REQUIRE_CHROMIUM=1 a missing browser is a failure."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import browser
from tests.support.project import ROOT

OVERFULL = "[...document.querySelectorAll('.table-wrapper')].filter(box => box.scrollWidth > box.clientWidth)"
MOVED = f"""{OVERFULL}.map(box => {{
    const cell = box.querySelector('td'), before = cell.getBoundingClientRect().x
    box.scrollLeft = 50
    return [box.scrollLeft > 0, Math.abs(cell.getBoundingClientRect().x - before) < 5]
}})"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    browser.require()
    folder = tmp_path_factory.mktemp("documents")
    command = [Path(sys.executable).with_name("sphinx-build"), "-q", "-W", "-c", "docs", "-d", folder / "cache"]
    subprocess.run([*command, ".", folder / "html"], cwd=ROOT, check=True)
    return folder / "html"


@pytest.mark.ci
def test_tables_fit_a_laptop_and_scroll_on_a_phone_beside_their_first_column(built, tmp_path):
    pages = [page for part in ("*.html", "docs/*.html", "results/**/*.html") for page in sorted(built.glob(part))]
    scrolled = []
    with browser.opened(tmp_path) as page:
        for path in pages:
            page.show_as(width=1366)
            page.open(path)
            assert page.evaluate(f"{OVERFULL}.length") == 0, path.name
            page.show_as(width=390)
            assert page.evaluate("document.documentElement.scrollWidth") == 390, path.name
            scrolled += page.evaluate(MOVED)
    assert len(pages) > 30 and len(scrolled) > 10 and all(all(one) for one in scrolled)


@pytest.mark.ci
def test_every_page_but_those_of_archives_is_in_the_sidebar(built):
    sidebar = (built / "README.html").read_text().split('class="sidebar-tree"')[1].split("</aside>")[0]
    missing = [path.stem for path in (built / "docs").glob("*.html") if f'href="docs/{path.name}"' not in sidebar]
    assert missing == [] and "results/archive/h" not in sidebar
