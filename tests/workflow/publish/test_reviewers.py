"""Each command of docs/reviewers.md and README.md is run in dry form; the artifacts are the paper's elements."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.copies import copy_project
from tests.support.project import ENVIRONMENT
from workflow.store import paper

ROOT = Path(__file__).parents[3]
PAGE, README = ((ROOT / name).read_text() for name in ("docs/reviewers.md", "README.md"))
# Other tests run these: test_report.py, test_slurm.py and test_interrupted.py.
ELSEWHERE = ("--report", "--profile", "--unlock")


def commands(page):
    indented = re.findall(r"^    ((?:make|snakemake)\b.*)$", page, re.MULTILINE)
    return set(indented + re.findall(r"`((?:make|snakemake) [^`]+)`", page))


COMMANDS = sorted(commands(PAGE) | {one for one in commands(README) if not any(word in one for word in ELSEWHERE)})
JOBS = [command for command in COMMANDS if command.endswith("timings.csv")]


def test_each_claim_belongs_to_an_artifact():
    spans = re.findall(r"^\| A\d \|.*\| C(\d+)(?: to C(\d+))? \|", PAGE, re.MULTILINE)
    numbers = [number for first, last in spans for number in range(int(first), int(last or first) + 1)]
    assert numbers == list(range(1, len(paper.claims()) + 1))


def test_there_are_commands():
    assert len(COMMANDS) >= 15 and any("batch --config" in command for command in COMMANDS)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return copy_project(tmp_path_factory.mktemp("reviewers"))


@pytest.mark.ci
@pytest.mark.parametrize("ones", [*([one] for one in COMMANDS if one not in JOBS), JOBS], ids=lambda ones: ones[-1])
def test_each_command_can_be_run(ones, project):
    """The jobs' commands, which differ in the file alone, in one run."""
    words = shlex.split(ones[0].split("&&")[0], comments=True) + [shlex.split(one)[-1] for one in ones[1:]]
    if words[0] == "snakemake" and "mode=" not in ones[0]:
        if "--config" in words:
            words.insert(words.index("--config") + 1, "mode=cuda")
        else:
            words[1:1] = ["--config", "mode=cuda"]
    ran = subprocess.run([*words, "-n"], cwd=project, env=os.environ | ENVIRONMENT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
