"""What rules take, without Snakemake."""

import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from kernels.errors import InputError
from tests.support import published
from tests.support.published import CONFIG
from workflow.plan import allocation, experiments
from workflow.plan.planner import Plan
from workflow.store import measurements

ROOT = Path(__file__).parents[3]


def planned(*, simulating=False, protocol=None, **options):
    config = CONFIG | {"protocol": CONFIG["protocol"] | (protocol or {})}
    return Plan(config=config, why_simulated="no GPU is visible" if simulating else "", **options)


@pytest.mark.parametrize(
    ("simulating", "cell", "folder", "reason"),
    [
        (False, "bellman_ford/stride/nyc", "cells", "^$"),
        (False, "bellman_ford/cpu/nyc", "cells", "^$"),
        (False, "bellman_ford/stride/sample1", "simulated", "simulated only in the mode simulator"),
        (True, "bellman_ford/stride/sample1", "simulated", "^$"),
        (True, "bellman_ford/stride/nyc", "cells", "on nyc cannot be measured here: "),
        (True, "dijkstra/scipy/nyc", "cells", "^$"),
        (True, "dijkstra/scipy/nyc", "simulated", "too large .*sample1 or sample3$"),
        (False, "bellman_ford/strde/nyc", "cells", "bellman_ford/strde: .*bellman_ford/stride,"),
        (False, "bellman_ford/stride/nyk", "cells", "'nyk': .* nyc, bay"),
    ],
)
def test_which_cells_are_refused(simulating, cell, folder, reason):
    plan = planned(simulating=simulating)
    cell = experiments.Cell(*cell.split("/"))
    assert re.search(reason, plan.refusal(cell, folder))
    if reason != "^$":
        with pytest.raises(InputError, match=reason):
            plan.check([cell], folder)


def test_what_a_target_makes_with_a_gpu_and_without():
    wanted = [cell for cell in experiments.cells_of(CONFIG) if cell[2] in ("nyc", "sample1")]
    assert planned(simulating=False).makeable(wanted) == ([("cells", cell) for cell in wanted], [])
    made, skipped = planned(simulating=True).makeable(wanted)
    assert {folder for folder, cell in made if cell[2] == "sample1"} == {"simulated"}
    of_nyc = [cell for cell in wanted if cell[2] == "nyc"]
    assert [("cells", cell) for cell in of_nyc if not cell.registered.on_gpu] == [
        one for one in made if one[1][2] == "nyc"
    ]
    assert skipped == [cell for cell in of_nyc if cell.registered.on_gpu]


@pytest.mark.parametrize(("cards", "threads", "kept"), [(1, (8, 8, 8), 0), (4, (2, 2, 8), 2)])
def test_cards_share_the_cores(cards, threads, kept):
    """A job's, those of a GPU cell measured alone, and of a CPU cell."""
    plan = planned(cores=8, cards=cards)
    cells = [SimpleNamespace(folder="cells", algorithm="bellman_ford", variant=name) for name in ("naive", "cpu")]
    assert (plan.job_threads, *map(plan.cell_threads, cells)) == threads
    assert plan.kept_cores == kept


def test_of_several_batches_the_first_goes_first():
    priority = planned(protocol={"batch": "one", "batches": 3}).job_priority
    of = [priority(SimpleNamespace(batch=name)) for name in ("one", "one-2", "one-3")]
    assert of == sorted(of, reverse=True) and len(set(of)) == 3


ARCHIVES = {"h200": "results/archive/h200", "h100": "results/archive/h100-80gb-hbm3"}


@pytest.mark.parametrize("model", ARCHIVES)
@pytest.mark.parametrize("named", [True, False])
def test_a_job_requests_two_to_six_times_what_it_took_in_the_archive(model, named, monkeypatch):
    """At most eight times if the card is not named, because it may be a slower one.

    The upper limit is for jobs of half of the cells at least: those of few variants prepared and checked less.
    """
    monkeypatch.setenv("GPU_MODEL", model if named else "")
    rows = published.archived_rows(Path(ARCHIVES[model]).name)
    rows = rows[(rows["batch"] != "") & rows["dataset"].isin(list(CONFIG["datasets"]))]
    started = pd.to_datetime(rows["started"], utc=True)
    rows = rows.assign(start=started, end=started + pd.to_timedelta(rows["seconds"].fillna(0), unit="s"))
    cells = rows.groupby(["problem", "dataset"])["variant"].nunique()
    for (problem, dataset, batch), of_job in rows.groupby(["problem", "dataset", "batch"]):
        if (model, dataset, batch) == ("h200", "ne", "BX"):
            continue  # was interrupted, and continued two minutes later
        took = allocation.START_S + (of_job["end"].max() - of_job["start"].min()).total_seconds()
        measured = {experiments.Cell(*cell) for cell in zip(*(of_job[key] for key in measurements.CELL), strict=True)}
        requested = 60 * allocation.runtime_min(CONFIG, [str(ROOT / ARCHIVES[model])], measured)
        assert requested >= 2 * took
        assert requested <= (6 if named else 8) * took or len(measured) < cells[problem, dataset] / 2


def test_a_card_that_no_archive_has_gets_more_time(monkeypatch):
    def minutes(model):
        monkeypatch.setenv("GPU_MODEL", model)
        job = SimpleNamespace(problem="sssp", dataset="nyc")
        return planned().job_minutes(job)

    assert minutes("h200") < minutes("") == minutes("v100")


@pytest.mark.parametrize("part", ["5/0", "0/5", "y/x", "3/2", "0/2", "-1/2", "1/1.5", "1/7", "1/2/2"])
def test_a_part_of_all_pairs_that_is_none_is_refused(part):
    """sample1 has six vertices."""
    plan = planned(simulating=True)
    for shard in range(1, 7):
        plan.all_pairs_graph(SimpleNamespace(dataset="sample1", shard=str(shard), shards="6"))
    shard, shards = part.split("/", 1)
    with pytest.raises(InputError, match=f"^all_pairs of sample1: there is no part {shard} of {shards}: .* 1 to 6$"):
        plan.all_pairs_graph(SimpleNamespace(dataset="sample1", shard=shard, shards=shards))


def test_without_a_gpu_the_message_gives_the_reason_and_under_slurm_the_mode():
    cell = experiments.Cell("bellman_ford", "naive", "nyc")
    assert "no GPU is visible" in planned(simulating=True).refusal(cell)
    assert "pass mode=cuda after --config" in planned(simulating=True, on_slurm=True).refusal(cell)
