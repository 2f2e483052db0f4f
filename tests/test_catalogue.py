"""What Snakemake's workflow catalogue asks of a workflow that it lists with "standardized usage"."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.project import ALL, Project

ROOT = Path(__file__).parents[1]
USAGE = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
OTHER = "-s", "workflow/Snakefile"


def test_it_is_found():
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme
    assert (ROOT / "workflow/Snakefile").exists() and list((ROOT / "workflow/rules").glob("*.smk"))


def test_its_usage_is_described():
    keys = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", (ROOT / "config/README.md").read_text(), re.M)))
    assert sorted(keys) == sorted(yaml.safe_load((ROOT / "config.yaml").read_text()))
    assert set(USAGE) == {"software-stack-deployment", "report"}
    directives = re.findall(r"^(\w+):", (ROOT / "Snakefile").read_text(), re.MULTILINE)
    assert USAGE["report"] == ("report" in directives)
    deployment = {"conda": False, "apptainer": "container" in directives, "apptainer+conda": False}
    assert USAGE["software-stack-deployment"] == deployment


def test_its_rules_are_formatted():
    snakefmt = Path(sys.executable).with_name("snakefmt")
    files = ["workflow/Snakefile", *sorted(map(str, (ROOT / "workflow/rules").glob("*.smk")))]
    ran = subprocess.run([snakefmt, "--check", "-v", *files], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_its_snakefile_makes_the_same(tmp_path):
    project = Project.make(tmp_path)
    assert project.plan(*OTHER) == ALL
    assert "in a good condition" in project.snakemake("--lint", *OTHER)
