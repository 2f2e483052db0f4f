"""Check what must agree before a release: version and dates, the archives' checksums, the documents.

`make release` runs it in the repository's root.
"""

import json
import re
import tomllib
from pathlib import Path

import yaml

from kernels import io
from kernels.errors import InputError
from workflow.plan import result_paths
from workflow.publish import readme
from workflow.step import logged

ARCHIVES = Path("results/archive")
SUMS = ARCHIVES / "SHA256SUMS"  # in the form of sha256sum
UPDATE = "run snakemake --cores 1 readme"


def check_version() -> None:
    """Compare version and date of pyproject.toml, the citation files and the changelog."""
    version = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = yaml.safe_load(Path("CITATION.cff").read_bytes())
    zenodo, codemeta = (json.loads(Path(name).read_bytes()) for name in (".zenodo.json", "codemeta.json"))
    for name, stated in (("CITATION.cff", citation), (".zenodo.json", zenodo), ("codemeta.json", codemeta)):
        if stated["version"] != version:
            raise InputError(f"{name}: version {stated['version']}, pyproject.toml has {version}: correct one of them")
    if not (released := str(citation.get("date-released") or "")):
        raise InputError("CITATION.cff: has no date-released: add the release's date, as in CONTRIBUTING.md")
    if (published := codemeta.get("datePublished", "none")) != released:
        raise InputError(f"codemeta.json: date {published}, CITATION.cff has {released}: correct one of them")
    heading = re.search("^## .*", Path("CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    head, expected = heading[0] if heading else "no version", f"## {version} ({released})"
    if head != expected:
        raise InputError(
            f"CHANGELOG.md: begins with {head!r}, pyproject.toml and CITATION.cff give {expected!r}: correct one"
        )


def sums() -> str:
    """Return the SHA-256 of each file in the archives."""
    files = sorted(path for path in ARCHIVES.rglob("*") if path.is_file() and path != SUMS)
    return "".join(f"{io.sha256(path)}  {path.relative_to(ARCHIVES)}\n" for path in files)


def write_sums() -> None:
    """Write the checksums of the archives."""
    text = sums()  # before there is a temporary file
    with io.atomic(SUMS, "w") as file:
        file.write(text)


def check_sums() -> None:
    """Compare the archives with their checksums."""
    lines = {*SUMS.read_text(encoding="utf-8").splitlines()} ^ {*sums().splitlines()}
    if changed := sorted(line.partition("  ")[2] for line in lines):
        raise InputError(
            f"{ARCHIVES / changed[0]}: not as in {SUMS}: restore it, or, if the archive was meant to change, {UPDATE}"
        )


def check_documents() -> None:
    """Compare the generated parts of the documents with the archives."""
    config = yaml.safe_load(Path("config.yaml").read_bytes())
    for name, text in readme.filled(readme.generated(result_paths.archives(config), config), Path()).items():
        if text != Path(name).read_text(encoding="utf-8"):
            raise InputError(f"{name}: its generated parts are not those of the archives: {UPDATE}")


def check_release() -> None:
    """Raise InputError for the first thing that does not agree."""
    check_version()
    check_sums()
    check_documents()


if __name__ == "__main__":
    with logged():
        check_release()
