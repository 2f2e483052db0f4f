"""Put the rule graph and the archive's tables and verdicts into README.md, between their markers.

python -m workflow.scripts.readme --archive results/archive/h200
"""

import argparse
import os
import re
import subprocess
from pathlib import Path

import yaml

from kernels.datasets import atomic
from kernels.errors import InputError
from workflow.lib import measurements, pages, step
from workflow.scripts import audit, reviewers

SHOWN = ("table*", "launch_overhead", "growth")


def rule_graph() -> str:
    """The rules of a run with a GPU, as a Mermaid diagram; arrows in order, since Snakemake has them in any."""
    command = ["snakemake", "--quiet", "--forceall", "--config", "mode=cuda", "--rulegraph", "mermaid-js"]
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    lines = sorted(said[said.index("flowchart") :].strip().splitlines(), key=lambda line: line if "-->" in line else "")
    return "\n".join(["```mermaid", *lines, "```"])


def page_text(page: Path) -> str:
    """A page's text. Raises InputError where it is none."""
    try:
        return page.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{page}: not a text file ({error})") from None


def fill(text: str, name: str, content: str, page: Path = Path("README.md")) -> str:
    """The page's text with what stands between the markers of that name replaced."""
    pattern = re.compile(f"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise InputError(f"{page}: the markers of {name} are missing: <!-- begin {name} --> and <!-- end {name} -->")
    return pattern.sub(lambda found: f"{found[1]}{content.strip()}\n{found[2]}", text)


def main(args: argparse.Namespace) -> None:
    text = page_text(args.readme)
    for table in sorted(path for name in SHOWN for path in args.archive.glob(f"{name}.md")):
        text = fill(text, table.stem, table.read_text())
    try:
        config = yaml.safe_load(args.config.read_text())
        tolerance = config["audit"]["tolerance"]
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError, KeyError) as error:
        raise InputError(f"{args.config}: not the project's configuration ({error!r})") from None
    rows, claims = measurements.load([args.archive / "timings.csv"]), audit.claims()
    chosen = audit.select(rows, claims)
    audited = audit.audit(chosen, claims, tolerance)
    said = measurements.about(chosen, f"From the archive {args.archive.name}.")
    text = fill(text, "claims", pages.to_markdown([("table", audit.overview(audited)), ("ul", said)]))
    text = fill(text, "reviewers", reviewers.table(rows, audited, config))
    text = fill(text, "rulegraph", rule_graph())
    with atomic(args.readme, "w") as file:
        file.write(text)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--archive", type=Path, required=True)
    arguments.add_argument("--readme", type=Path, default=Path("README.md"))
    arguments.add_argument("--config", type=Path, default=Path("config.yaml"))
    step.run(main, arguments)
