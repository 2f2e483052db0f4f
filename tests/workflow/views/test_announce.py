"""What `make` says before and at the end."""

import re
from pathlib import Path

import pytest

from kernels.errors import InputError
from tests.support.rows import CONFIG, measurement, put_rows
from workflow.plan import conditions, experiments
from workflow.views import announce

ROOT = Path(__file__).parents[3]
CLAIMS = """\
claim,dataset,claim's verdict,source
one,nyc,as claimed,From the archive x.
one,bay,as claimed,From the archive x.
two,nyc,not as claimed,From the archive x.
three,nyc,as claimed,From the archive x.
"""


@pytest.fixture
def simulating(monkeypatch):
    def choose(value):
        monkeypatch.setattr(conditions, "why_simulated", lambda config: value)

    return choose


def test_with_a_gpu_it_says_how_long_it_takes(simulating, monkeypatch):
    monkeypatch.chdir(ROOT)
    simulating(False)
    config = CONFIG | {"protocol": CONFIG["protocol"] | {"batch": "a", "batches": 2}}
    needed, time, _ = announce.before(config)
    papers = {cell[2] for cell in experiments.table_cells(CONFIG, *experiments.PAPER_TABLES)}
    jobs = {job: cells for job, cells in experiments.jobs(CONFIG).items() if job[1] in papers}
    together = sum(map(len, jobs.values()))
    assert re.match(rf"{2 * len(jobs)} jobs \(batch a, a-2\), .* {together} cells .* 2 cells ", needed)
    assert 30 < int(re.search(r"(\d+) minutes on NVIDIA H200 \(results/archive/h200\)", time)[1]) < 300
    assert announce.before(config | {"archive": "none"}) == [needed]
    simulating(True)
    assert announce.before(config) == []


def test_how_long_it_takes_is_that_of_one_batch(simulating, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    simulating(False)
    naive = "bellman_ford/naive"
    rows = [measurement(naive, "nyc", n, 60, batch=batch) for batch in "ab" for n in (1, 2)]
    rows += [measurement(naive, "nyc", 1, 6000), measurement("bellman_ford/cpu", "nyc", 1, 600)]
    put_rows(rows, Path("results/archive/h200"))
    _, time, _ = announce.before(CONFIG)
    assert " 12 minutes on test card" in time  # two of the batch, ten of the cell that is in none


def test_at_the_end_it_counts_verdicts_and_says_where_all_lies(simulating, monkeypatch, tmp_path, caplog):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"results/claims\.csv: "):
        announce.after(CONFIG)
    Path("results").mkdir()
    Path("results/claims.csv").write_text(CLAIMS)
    Path("results/simulated.csv").write_text("algorithm,variant,dataset\na,b,c\na,b,c\na,b,d\n")
    simulating(True)
    lines = announce.after(CONFIG)
    assert len(lines) == 10
    assert lines[:2] == ["3 claims were judged: 2 as claimed, 1 not as claimed.", "From the archive x."]
    said = "\n".join(lines)
    for part in (
        "results/table1.md",
        "figures/figure6.svg",
        "results/simulated.md, of 2 cells",
        "made --report report.html",
    ):
        assert part in said
    simulating(False)
    assert "simulated" not in "\n".join(announce.after(CONFIG))

    Path("config.yaml").write_text("mode: auto\nmode: cuda\n")
    with pytest.raises(InputError, match=r"config\.yaml, line 2: "):
        announce.main("before")
    with caplog.at_level("INFO"):
        announce.main("after", ROOT / "config.yaml")
    assert "3 claims were judged" in caplog.text
