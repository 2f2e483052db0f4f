"""What `make` says before and at the end."""

import re
from argparse import Namespace
from pathlib import Path

import pytest
import yaml

from kernels.errors import InputError
from workflow.lib import plan
from workflow.scripts import announce

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())
CLAIMS = """\
claim,dataset,claim's verdict,source
one,nyc,reproduced,From the archive x.
one,bay,reproduced,From the archive x.
two,nyc,not reproduced,From the archive x.
three,nyc,reproduced,From the archive x.
"""


@pytest.fixture
def simulating(monkeypatch):
    def choose(value):
        monkeypatch.setattr(plan, "simulating", lambda config: value)

    return choose


def test_with_a_gpu_it_says_how_long_it_takes(simulating, monkeypatch):
    monkeypatch.chdir(ROOT)
    simulating(False)
    cells, time, _ = announce.before(CONFIG)
    wanted = len(plan.table_cells(CONFIG, *plan.PAPER_TABLES))
    assert cells == f"{wanted} cells are needed; existing results are reused."
    minutes = re.fullmatch(r"Their timed runs took (\d+) minutes on NVIDIA H200 \(results/archive/h200/.*\)\.", time)[1]
    assert 30 < int(minutes) < 300
    assert announce.before(CONFIG | {"archive": "none"}) == [cells]
    simulating(True)
    assert announce.before(CONFIG) == []


def test_at_the_end_it_counts_verdicts_and_says_where_all_lies(simulating, monkeypatch, tmp_path, caplog):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"results/claims\.csv: no such file: run snakemake"):
        announce.after(CONFIG)
    Path("results").mkdir()
    Path("results/claims.csv").write_text(CLAIMS)
    Path("results/simulated.csv").write_text("algorithm,variant,dataset\na,b,c\na,b,c\na,b,d\n")
    simulating(True)
    lines = announce.after(CONFIG)
    assert len(lines) == 10
    assert lines[:2] == ["3 claims were judged: 2 reproduced, 1 not reproduced.", "From the archive x."]
    said = "\n".join(lines)
    for part in (
        "results/table1.md",
        "figures/figure6.svg",
        "results/simulated.md, of 2 cells",
        "--report report.html",
    ):
        assert part in said
    simulating(False)
    assert "simulated" not in "\n".join(announce.after(CONFIG))

    Path("config.yaml").write_text("mode: auto\nmode: cuda\n")
    with pytest.raises(InputError, match=r"config\.yaml, line 2: mode stands twice"):
        announce.main(Namespace(when="before", config=Path("config.yaml")))
    with caplog.at_level("INFO"):
        announce.main(Namespace(when="after", config=ROOT / "config.yaml"))
    assert "3 claims were judged" in caplog.text
