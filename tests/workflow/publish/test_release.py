"""`make release` refuses what does not agree, with one message."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kernels.errors import InputError
from tests.support.copies import copy_project
from workflow.plan import result_paths
from workflow.publish import readme, release

ROOT = Path(__file__).parents[3]
FILES = ("pyproject.toml", "CITATION.cff", ".zenodo.json", "codemeta.json", "CHANGELOG.md")


def change(path, pattern, to):
    text, count = re.subn(pattern, to, Path(path).read_text(), count=1, flags=re.MULTILINE)
    assert count == 1
    Path(path).write_text(text)


def date_release():
    """Give the version a date in all files that have one, unless the repository's version is released."""
    if "date-released" not in Path("CITATION.cff").read_text():
        change("CITATION.cff", "^version: .*", r'\g<0>\ndate-released: "2027-01-31"')
        change("codemeta.json", '^  "version": .*', r'\g<0>\n  "datePublished": "2027-01-31",')
        change("CHANGELOG.md", r"^(## \S+) \(.*\)$", r"\1 (2027-01-31)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that have the version, and an archive."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path / name)
    for name, text in (("LICENSE", "free"), ("h200/timings.csv", "a,b\n"), ("h200/table1.md", "| a |\n")):
        (tmp_path / release.ARCHIVES / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / release.ARCHIVES / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    date_release()
    release.write_sums()


@pytest.mark.parametrize(
    ("file", "pattern", "to", "message"),
    [
        (
            "pyproject.toml",
            '^version = ".*"',
            'version = "9.9"',
            r"CITATION\.cff: version \S+, pyproject\.toml has 9\.9",
        ),
        ("CITATION.cff", "^version: .*", "version: 9.9.0", r"CITATION\.cff: version 9\.9\.0, pyproject\.toml has"),
        (".zenodo.json", '"version": ".*"', '"version": "9.9"', r"\.zenodo\.json: version 9\.9, pyproject\.toml has"),
        ("codemeta.json", '"version": ".*"', '"version": "9.9"', r"codemeta\.json: version 9\.9, pyproject\.toml has"),
        (
            "codemeta.json",
            '("datePublished": ").*?"',
            r'\g<1>1999-01-01"',
            r"codemeta\.json: date 1999-01-01, CITATION",
        ),
        ("CITATION.cff", "^date-released: .*", "", r"CITATION\.cff: has no date-released: add the release's date"),
        ("codemeta.json", '^  "datePublished": .*', "", r"codemeta\.json: date none, CITATION"),
        ("CHANGELOG.md", r"^(## \S+) .*", r"\1 (not released)", r"begins with '## \S+ \(not released\)', pyproject"),
        ("CHANGELOG.md", r"^## \S+", "## 9.9", r"CHANGELOG\.md: begins with '## 9\.9 \(.*, pyproject.* give '## "),
        ("CHANGELOG.md", r"^## .*", "", r"CHANGELOG\.md: begins with 'no version', pyproject.* give '## "),
    ],
)
def test_versions_and_dates_must_agree(folder, file, pattern, to, message):
    release.check_version()
    change(file, pattern, to)
    with pytest.raises(InputError, match=message):
        release.check_version()


@pytest.mark.parametrize("name", ["h200/timings.csv", "h200/table2.md"])
def test_an_archive_must_have_its_checksums(folder, name):
    release.check_sums()
    (release.ARCHIVES / name).write_text("another")
    with pytest.raises(InputError, match=rf"^results/archive/{name}: .*SHA256SUMS"):
        release.check_sums()


def test_a_file_may_not_be_missing_from_an_archive(folder):
    (release.ARCHIVES / "h200/table1.md").unlink()
    with pytest.raises(InputError, match=r"^results/archive/h200/table1\.md: "):
        release.check_sums()


def test_the_checksums_are_those_of_sha256sum(folder):
    subprocess.run(["sha256sum", "--check", "--strict", release.SUMS.name], cwd=release.ARCHIVES, check=True)


def test_the_documents_must_be_those_of_the_archives(folder, monkeypatch):
    Path("config.yaml").write_text("archive: h200\n")
    Path("a.md").write_text("<!-- begin x -->\nnew\n<!-- end x -->\n")
    monkeypatch.setattr(readme, "generated", lambda archives, config: {"a.md": {"x": " ".join(archives)}})
    with pytest.raises(InputError, match=r"^a\.md: .*run snakemake"):
        release.check_documents()
    change("a.md", "new", " ".join(result_paths.archives({"archive": "h200"})))
    release.check_documents()


def test_the_archives_of_the_repository_have_their_checksums(monkeypatch):
    monkeypatch.chdir(ROOT)
    release.check_sums()


def test_either_all_files_or_none_say_that_the_version_is_released():
    changes, citation = (ROOT / name for name in ("CHANGELOG.md", "CITATION.cff"))
    unreleased = re.search(r"^## .* \(not released\)$", changes.read_text(), re.MULTILINE)
    dated = ["date-released" in yaml.safe_load(citation.read_text())]
    dated += ["datePublished" in json.loads((ROOT / "codemeta.json").read_text())]
    assert dated == [not unreleased] * 2


def test_a_release_checks_version_sums_and_documents(monkeypatch):
    checked = []
    for name in ("check_version", "check_sums", "check_documents"):
        monkeypatch.setattr(release, name, lambda name=name: checked.append(name))
    release.check_release()
    assert checked == ["check_version", "check_sums", "check_documents"]


@pytest.mark.ci
def test_the_repository_can_be_released_once_its_version_has_a_date(tmp_path, monkeypatch):
    monkeypatch.chdir(copy_project(tmp_path))
    date_release()
    command = [sys.executable, "-m", "workflow.publish.release"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
