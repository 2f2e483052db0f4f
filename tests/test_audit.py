"""The paper's claims are judged by the rule that claims.md states, from the rows and from nothing else."""

import csv
import dataclasses
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from kernels.errors import InputError
from kernels.variants import VARIANTS, find
from tests.rows import DATASETS, STATE, in_batches, measurement, record
from workflow.lib import measurements, plan
from workflow.lib.render import CROSS
from workflow.lib.tables import define
from workflow.scripts import audit, reviewers, summary, tables

ROOT = Path(__file__).parents[1]
SOURCE = "From the test."
TOLERANCE = 0.05
CLAIMS = {claim.id: claim for claim in audit.claims()}


def around(middle, n=6, part=0.01):
    """n times with that median, all within a part of it."""
    return list(middle * (1 + part * np.linspace(-1, 1, n)))


def put(folder, cells, devices=None, throttling=None):
    """The CSV and JSON of cells {(algorithm/variant, dataset): seconds of the repeats}; returns the CSVs."""
    paths = []
    for (key, dataset), times in cells.items():
        path = folder / key / f"{dataset}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, measurements.COLUMNS)
            writer.writeheader()
            for repeat, seconds in enumerate(times, start=1):
                started = f"2026-01-01T00:{repeat - 1:02}:00+00:00"
                own = {"device": (devices or {}).get(key, "card"), "commit": "c0ffee", "started": started}
                writer.writerow(measurement(key, dataset, repeat, seconds, **own))
        after = STATE | {"sm_clock_mhz": 1500, "throttling": (throttling or {}).get((key, dataset), [])}
        card = {"before": STATE, "after": after} if VARIANTS[key].on_gpu else None
        path.with_suffix(".json").write_text(json.dumps(record(key, dataset, card)))
        paths.append(path)
    return paths


def judged(folder, claim, cells, **more):
    """The claim, judged on cells {(algorithm/variant, dataset): seconds}."""
    rows = audit.select(measurements.load(put(folder, cells, **more)), [claim])
    (one,) = audit.audit(rows, [claim], TOLERANCE)
    return one


def verdicts(findings):
    return {dataset: finding.verdict for dataset, finding in findings.items()}


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("stride_small", ["col"]),
        ("stride_large", []),
        ("stride_largest", []),
        ("flag_best", ["nyc", "bay", "col", "fla", "ne", "e"]),
        ("flag_factor", ["e"]),
        ("dijkstra_gpu", ["gnutella04"]),
        ("super_naive_best", ["gnutella04", "gnutella25", "gnutella30"]),
        ("super_naive_shared", ["gnutella04", "gnutella25", "gnutella30"]),
        ("tiled_best", ["gnutella04", "gnutella25", "gnutella30"]),
        ("tiled_factor", ["gnutella04"]),
        ("tiled_shared_over_tiled", ["gnutella04"]),
        ("tiled_shared_over_naive", []),
    ],
)
def test_what_the_papers_own_tables_say(name, held):
    claim, papers = CLAIMS[name], audit.paper_times()
    findings = {dataset: audit.judge(claim, dataset, papers, TOLERANCE, {}) for dataset in claim.datasets}
    assert [dataset for dataset, finding in findings.items() if finding.verdict == "holds"] == held
    assert {finding.rests_on for finding in findings.values()} == {"tolerance"}
    assert audit.outcome(findings)[1].startswith(f"holds on {len(held)} of {len(claim.datasets)}")


def test_every_claim_of_the_paper_has_all_it_needs_in_its_tables():
    papers = audit.paper_times()
    assert len(CLAIMS) == 12
    for claim in CLAIMS.values():
        assert {(name, dataset) for name in (claim.left, *claim.right) for dataset in claim.datasets} <= set(papers)


def test_the_papers_ratios():
    papers = audit.paper_times()
    finding = audit.judge(CLAIMS["flag_factor"], "nyc", papers, TOLERANCE, {})
    assert finding.value == pytest.approx(8.58384 / 3.91371)
    finding = audit.judge(CLAIMS["stride_largest"], "e", papers, TOLERANCE, {})
    assert (finding.value, finding.verdict) == (pytest.approx(1137.63 - 1135.22), "no difference")
    finding = audit.judge(CLAIMS["flag_best"], "ne", papers, TOLERANCE, {})
    assert (finding.over, finding.value) == ("bellman_ford/stride", pytest.approx(214.76 / 83.5226))


@pytest.mark.parametrize("repeats", [1, 5, 6])
@pytest.mark.parametrize(
    ("relation", "low", "high", "left", "right", "verdict"),
    [
        ("slower", np.nan, np.nan, 12, 10, "holds"),
        ("slower", np.nan, np.nan, 10, 12, "fails"),
        ("slower", np.nan, np.nan, 10, 10, "no difference"),
        ("faster", np.nan, np.nan, 10, 12, "holds"),
        ("faster", np.nan, np.nan, 12, 10, "fails"),
        ("faster", np.nan, np.nan, 10, 10, "no difference"),
        ("fastest", np.nan, np.nan, 10, 12, "holds"),
        ("fastest", np.nan, np.nan, 12, 10, "fails"),
        ("no_better", np.nan, np.nan, 12, 10, "holds"),
        ("no_better", np.nan, np.nan, 10, 10, "holds"),
        ("no_better", np.nan, np.nan, 10, 12, "fails"),
        ("times_faster", 2, 2, 10, 20, "holds"),
        ("times_faster", 2, 2, 10, 20.9, "holds"),
        ("times_faster", 2, 2, 10, 30, "more than claimed"),
        ("times_faster", 2, 2, 20, 10, "fails"),
        ("times_faster", 2, 2, 10, 10, "no difference"),
        ("times_faster", 4, 6, 10, 50, "holds"),
        ("times_faster", 4, 6, 10, 37, "less than claimed"),
        ("times_faster", 4, 6, 10, 64, "more than claimed"),
        ("faster_by_s", 2, 2, 10, 12, "holds"),
        ("faster_by_s", 2, 2, 10, 14, "more than claimed"),
        ("faster_by_s", 2, 2, 12, 10, "fails"),
        ("faster_by_s", 2, 2, 200, 202, "no difference"),
    ],
)
def test_each_relation(relation, low, high, left, right, verdict, repeats):
    claim = dataclasses.replace(CLAIMS["flag_factor"], relation=relation, low=low, high=high)
    times = [np.array(around(middle, repeats, 0.005)) for middle in (left, right)]
    finding = audit.compare(claim, "bellman_ford/naive", *times, TOLERANCE)
    value = right - left if relation == "faster_by_s" else right / left
    assert finding.verdict == verdict
    assert finding.value == pytest.approx(value, rel=0.01)
    assert finding.low <= finding.value <= finding.high
    assert finding.rests_on == ("intervals" if repeats == 6 else "tolerance")
    assert finding.ends == {1: "", 5: "range", 6: "95 % interval"}[repeats]


def test_overlapping_intervals_are_no_difference():
    """Though the ratio is far from 1, and one time of each would make a difference."""
    left, right = np.array([10, 10, 10, 10, 10, 13.0]), np.array([12, 12, 12, 12, 12, 12.5])
    claim = dataclasses.replace(CLAIMS["flag_factor"], relation="faster")
    assert audit.compare(claim, "", left, right, TOLERANCE).verdict == "no difference"
    assert audit.compare(claim, "", left[:5], right[:5], TOLERANCE).verdict == "holds"
    assert audit.compare(claim, "", np.minimum(left, 11.9), right, TOLERANCE).verdict == "holds"


def test_a_small_difference_counts_where_intervals_are_apart():
    left, right = np.array(around(10, part=1e-4)), np.array(around(10.1, part=1e-4))
    claim = dataclasses.replace(CLAIMS["flag_factor"], relation="faster")
    assert audit.compare(claim, "", left, right, TOLERANCE).verdict == "holds"
    assert audit.compare(claim, "", left[:5], right[:5], TOLERANCE).verdict == "no difference"


def test_the_interval_of_a_ratio_is_the_same_each_time_and_within_the_range():
    random = np.random.default_rng(0)
    left, right = random.normal(10, 0.1, 20), random.normal(20, 0.3, 20)
    first, second = (audit.compare(CLAIMS["flag_factor"], "", left, right, TOLERANCE) for _ in range(2))
    assert first == second
    assert right.min() / left.max() < first.low < first.value < first.high < right.max() / left.min()


def test_few_repeats_have_a_range_and_the_verdict_says_that_it_rests_on_the_tolerance(tmp_path):
    cells = {
        ("bellman_ford/stride_flag", "nyc"): [1, 1.25],
        ("bellman_ford/naive", "nyc"): around(3, 6),
    }
    one = judged(tmp_path, CLAIMS["flag_factor"], cells)
    finding = one.here["nyc"]
    assert (finding.low, finding.high) == (pytest.approx(2.97 / 1.25), pytest.approx(3.03))
    assert audit.value_text(one.claim, finding) == f"{tables.CROSS}2.67 [2.38, 3.03], range, n=2, 6"
    page = "\n".join(str(content) for kind, content in audit.page([one], rows_of(tmp_path), SOURCE, TOLERANCE))
    assert "holds, by tolerance" in page


def rows_of(folder):
    return measurements.load(sorted(folder.rglob("*.csv")))


def two(left, right, dataset):
    return {("bellman_ford/stride_flag", dataset): around(left), ("bellman_ford/naive", dataset): around(right)}


@pytest.mark.parametrize(
    ("cells", "verdict", "where"),
    [
        ({}, "not measured", ""),
        (two(1, 2.8, "nyc"), "reproduced in part", "holds on 1 of 1: nyc; not measured: bay"),
        (two(1, 2.8, "nyc") | two(1, 2.8, "bay"), "reproduced", "holds on 2 of 2: nyc, bay"),
        (two(1, 2.8, "nyc") | two(1, 2, "bay"), "reproduced in part", "holds on 1 of 2: nyc; less than claimed: bay"),
        (two(1, 2, "nyc") | two(1, 2, "bay"), "not reproduced", "holds on 0 of 2; less than claimed: nyc, bay"),
        (two(1, 2, "nyc"), "not reproduced", "holds on 0 of 1; less than claimed: nyc; not measured: bay"),
        ({("bellman_ford/naive", "nyc"): around(3)}, "not measured", ""),
    ],
)
def test_the_verdict_on_a_claim(tmp_path, cells, verdict, where):
    claim = dataclasses.replace(CLAIMS["flag_factor"], datasets=("nyc", "bay"))
    assert audit.outcome(judged(tmp_path, claim, cells).here) == (verdict, where)


def test_a_missing_variant_is_named_and_nothing_is_guessed(tmp_path):
    cells = {("bellman_ford/stride_flag", "nyc"): around(1), ("bellman_ford/naive", "nyc"): around(3)}
    finding = judged(tmp_path, CLAIMS["flag_best"], cells).here["nyc"]
    assert (finding.verdict, finding.why) == ("not measured", "no time of bellman_ford/stride")
    assert np.isnan(finding.value)


def test_the_fastest_must_be_faster_than_each(tmp_path):
    names = "bellman_ford/stride_flag", "bellman_ford/naive", "bellman_ford/stride"
    for number, (times, verdict, over) in enumerate(
        [
            ((1, 3, 2), "holds", "bellman_ford/stride"),
            ((1, 3, 1), "no difference", "bellman_ford/stride"),
            ((1, 0.5, 2), "fails", "bellman_ford/naive"),
        ]
    ):
        cells = {(name, "nyc"): around(time) for name, time in zip(names, times, strict=True)}
        finding = judged(tmp_path / str(number), CLAIMS["flag_best"], cells).here["nyc"]
        assert (finding.verdict, finding.over) == (verdict, over)


def test_times_of_different_cards_do_not_compare_but_of_a_card_and_a_processor_do(tmp_path):
    cells = two(1, 2.8, "nyc")
    finding = judged(tmp_path / "a", CLAIMS["flag_factor"], cells, devices={"bellman_ford/naive": "other"}).here["nyc"]
    assert (finding.verdict, finding.why) == ("not measured", "on different models of card: card, other")
    cells = {("dijkstra/naive", "gnutella04"): around(1), ("dijkstra/cpu", "gnutella04"): around(3)}
    one = judged(tmp_path / "b", CLAIMS["dijkstra_gpu"], cells, devices={"dijkstra/cpu": "processor"})
    assert verdicts(one.here) == {"gnutella04": "holds"}


def test_a_dataset_that_was_two_graphs_is_refused(tmp_path):
    paths = put(tmp_path, two(1, 2.8, "nyc"))
    paths[0].write_text(paths[0].read_text().replace("ab" * 32, "cd" * 32))
    with pytest.raises(InputError, match="nyc was not one graph"):
        audit.select(measurements.load(paths), [CLAIMS["flag_factor"]])


def test_a_cell_that_no_claim_is_about_is_left_out(tmp_path):
    paths = put(tmp_path, two(1, 2.8, "nyc") | {("bellman_ford/naive", "gnutella04"): around(1)})
    assert set(audit.select(measurements.load(paths), [CLAIMS["flag_factor"]])["dataset"]) == {"nyc"}


THROTTLED = {("bellman_ford/naive", "nyc"): ["power cap", "software thermal"]}


@pytest.mark.parametrize("archived", [False, True])
def test_a_throttled_run_is_flagged_wherever_it_is_shown(tmp_path, archived):
    paths = put(tmp_path, two(1, 2.8, "nyc"), throttling=THROTTLED)
    if archived:
        pd.concat([pd.read_csv(path) for path in paths]).to_csv(tmp_path / "timings.csv", index=False)
        records = [json.loads(path.with_suffix(".json").read_text()) for path in paths]
        by_cell = {"/".join(record[key] for key in measurements.CELL): record for record in records}
        (tmp_path / "provenance.json").write_text(json.dumps(by_cell))
        paths = [tmp_path / "timings.csv"]
    rows = measurements.load(paths)
    audit.write(rows, list(CLAIMS.values()), SOURCE, TOLERANCE, tmp_path)
    summary.write(rows, SOURCE, tmp_path)

    facts = pd.read_csv(tmp_path / "claims.csv", keep_default_na=False)
    flagged = facts[facts["throttled"] != ""]
    assert set(flagged["claim"]) == {"stride_small", "flag_best", "flag_factor"}
    assert set(flagged["dataset"]) == {"nyc"}
    assert set(flagged["throttled"]) == {"bellman_ford/naive (power cap, software thermal)"}
    claims, cells = ((tmp_path / f"{name}.md").read_text() for name in ("claims", "summary"))
    assert "n=6, 6; throttled: bellman_ford/naive (power cap, software thermal)" in claims
    note = "nyc.txt, {}: the card was throttled (power cap, software thermal)."
    assert note.format("bellman_ford/naive") in claims and note.format("bellman_ford/naive") in cells
    assert re.search(r"bellman_ford/naive .*\| 1900, 1500 of 1980 +\| power cap, software thermal \|", cells)
    assert re.search(r"bellman_ford/stride_flag .*\| 1900, 1500 of 1980 +\| - ", cells)
    assert note.format("Naive") in tables.render(define("table1", DATASETS), rows, SOURCE, TOLERANCE)[".md"]


def test_nothing_throttled_is_nothing_said(tmp_path):
    rows = measurements.load(put(tmp_path, two(1, 2.8, "nyc")))
    audit.write(rows, list(CLAIMS.values()), SOURCE, TOLERANCE, tmp_path)
    assert (
        "throttled"
        not in (tmp_path / "claims.md").read_text()
        + tables.render(define("table1", DATASETS), rows, SOURCE, TOLERANCE)[".md"]
    )


def test_a_broken_record_is_refused(tmp_path):
    (path, _) = put(tmp_path, two(1, 2.8, "nyc"))
    path.with_suffix(".json").write_text('{"algorithm": 1}')
    with pytest.raises(InputError, match=r"nyc\.json: no record of what was run .*: delete .*nyc\.csv and"):
        measurements.load([path])


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "left",
            "bellman_ford/strde",
            r"there is no variant 'bellman_ford/strde': choose one of .*bellman_ford/stride",
        ),
        ("right", "naive", "there is no variant 'naive'"),
        ("datasets", "nyc nyk", "there is no dataset 'nyk': choose one of nyc, bay"),
        ("relation", "quicker", "there is no relation 'quicker': choose one of slower, faster"),
        ("low", "", "low and high must be given for times_faster and faster_by_s, and for no other relation"),
        ("low", "two", "low and high must be numbers"),
        ("relation", "faster", "low and high must be given for times_faster and faster_by_s, and for no other"),
    ],
)
def test_a_claim_of_what_there_is_not_is_refused_with_one_message(tmp_path, column, value, message):
    with open(audit.CLAIMS, newline="") as file:
        claim = next(row for row in csv.DictReader(file) if row["id"] == "flag_factor")
    path = tmp_path / "claims.csv"
    pd.DataFrame([claim | {column: value}]).to_csv(path, index=False)
    with pytest.raises(InputError, match=f"claims.csv, claim flag_factor: {message}"):
        audit.claims(path)


def test_the_step_ends_with_one_line_and_no_file(tmp_path):
    claims = tmp_path / "claims.csv"
    claims.write_text(audit.CLAIMS.read_text().replace("bellman_ford/stride_flag", "bellman_ford/flag"))
    out = tmp_path / "out"
    words = ["--claims", claims, "--source", SOURCE, "--tolerance", TOLERANCE, "--out-dir", out]
    command = [sys.executable, "-m", "workflow.scripts.audit", *map(str, words)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("error: claims.csv, claim flag_best: there is no variant 'bellman_ford/flag': choose")
    assert not out.exists()


class Words(HTMLParser):
    """The text of a page, and whatever it would fetch."""

    def __init__(self, page):
        super().__init__()
        self.text, self.fetched = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data.strip())


def test_the_three_files(tmp_path):
    rows = measurements.load(put(tmp_path, two(1, 2.8, "nyc")))
    audit.write(rows, list(CLAIMS.values()), SOURCE, TOLERANCE, tmp_path)
    facts = pd.read_csv(tmp_path / "claims.csv")
    assert len(facts) == sum(len(claim.datasets) for claim in CLAIMS.values())
    assert not facts.duplicated(["claim", "dataset"]).any()
    nyc = facts[(facts["claim"] == "flag_factor") & (facts["dataset"] == "nyc")].iloc[0]
    assert (nyc["claimed low"], nyc["paper verdict"], nyc["verdict"]) == (2.8, "less than claimed", "holds")
    assert (nyc["paper"], nyc["measured"]) == (pytest.approx(2.1933, rel=1e-4), pytest.approx(2.8))
    assert nyc["claim's verdict"] == "reproduced in part"
    text, page = (tmp_path / "claims.md").read_text(), Words((tmp_path / "claims.html").read_text())
    for number, claim in enumerate(CLAIMS.values(), start=1):
        assert f"## {number}. {claim.claim}\n" in text and f"{number}. {claim.claim}" in page.text
    assert f"| {CROSS}2.19, n=1, 1 " in text  # the paper's own
    for sentence in (SOURCE, "On card: bellman_ford/stride_flag, bellman_ford/naive.", *audit.rule(TOLERANCE)):
        assert f"- {sentence}\n" in text or text.count(sentence) == 1
        assert sentence in page.text
    assert "Run: commit c0ffee; 2026-01-01." in page.text
    assert page.fetched == []


def test_substitutes_are_said(tmp_path):
    paths = put(tmp_path, two(1, 2.8, "nyc"))
    for path in paths:
        path.write_text(path.read_text().replace("test_host,,,,,", "test_host,,,,,drawn arc lengths"))
    rows = measurements.load(paths)
    audit.write(rows, list(CLAIMS.values()), SOURCE, TOLERANCE, tmp_path)
    summary.write(rows, SOURCE, tmp_path)
    for name in ("claims", "summary"):
        text = (tmp_path / f"{name}.md").read_text()
        assert "nyc †" in text and "† substitute for the paper's nyc.txt: drawn arc lengths." in text


@pytest.mark.parametrize(
    ("times", "low", "high", "ends"),
    [
        ([4, 1, 2], 1, 4, "range"),
        ([5, 3, 1, 2, 4], 1, 5, "range"),
        ([5, 3, 1, 2, 4, 6], 1, 6, "95 % interval"),
        (range(1, 21), 6, 15, "95 % interval"),  # 1 - 2 P(Binomial(20, 1/2) < 6) = 0.959
    ],
)
def test_statistics_of_a_cell(tmp_path, times, low, high, ends):
    rows = measurements.load(put(tmp_path, {("bellman_ford/naive", "nyc"): [t / 10 for t in times]}))
    (cell,) = summary.statistics(rows).to_dict("records")
    assert (cell["low"], cell["high"], cell["ends"]) == (low / 10, high / 10, ends)
    assert (cell["median"], cell["repeats"]) == (pytest.approx(np.median(times) / 10), len(times))
    assert cell["within"] == pytest.approx((max(times) - min(times)) / np.median(times), nan_ok=True)
    assert (cell["measured"], cell["batches"], np.isnan(cell["between"])) == ("alone", 0, True)
    assert (cell["clock_before_mhz"], cell["clock_after_mhz"], cell["clock_max_mhz"]) == (1900, 1500, 1980)


def test_a_cell_has_a_line_for_its_batches_and_one_for_what_was_measured_alone(tmp_path):
    key = "bellman_ford/naive"
    rows = measurements.load(put(tmp_path, {(key, "nyc"): [9.0, 10.0, 12.0]}))
    jobs = in_batches(rows, "abc", [{key: 0.9}, {}, {key: 1.2}])
    old = in_batches(rows, "d", [{key: 7}]).assign(code="01d", started="2020-01-01T00:00:00+00:00")
    facts = summary.statistics(pd.concat([rows, old, jobs], ignore_index=True))
    alone, batches = facts.to_dict("records")
    assert (alone["measured"], alone["median"], alone["repeats"]) == ("alone", 10, 3)
    assert [batches[name] for name in ("measured", "batches", "repeats", "ends")] == ["batches", 3, 9, "range"]
    assert [batches[name] for name in ("median", "low", "high")] == pytest.approx([10, 9, 12])
    assert (batches["within"], batches["between"]) == (pytest.approx(0.3), pytest.approx(0.3))
    shown = dict(summary.page(facts, rows, SOURCE))["table"]
    assert shown["Batches"].tolist() == ["alone", "3"]
    assert shown["Spread within batches"].tolist() == ["30.0 %", "30.0 %"]
    assert shown["Spread between batches"].tolist() == ["-", "30.0 %"]


def test_statistics_of_cells_without_times_and_of_nothing():
    timings = measurements.load([ROOT / "tests/data/timings.csv"])
    facts = summary.statistics(timings)
    assert len(facts) == len(timings.groupby(measurements.CELL))
    cpu = facts[(facts["variant"] == "cpu") & (facts["dataset"] == "nyc")].iloc[0]
    assert (cpu["status"], cpu["repeats"], cpu["ends"]) == ("timeout", 0, "")
    assert np.isnan(cpu["median"])
    shown = dict(summary.page(facts, timings, SOURCE))["table"]
    assert dict(zip(shown["Variant"], shown["Median"], strict=True))["dijkstra/cpu"] == ">2 h"
    nothing = measurements.load([])
    assert ("p", "Nothing was measured.") in summary.page(summary.statistics(nothing), nothing, SOURCE)


def test_nothing_measured_is_not_measured(tmp_path):
    audit.write(measurements.load([]), list(CLAIMS.values()), SOURCE, TOLERANCE, tmp_path)
    assert set(pd.read_csv(tmp_path / "claims.csv")["verdict"]) == {"not measured"}


@pytest.fixture(scope="module")
def config():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def test_the_claims_cells_are_configured(config):
    cells = plan.claimed_cells(config)
    wanted = {
        (*name.split("/"), dataset)
        for claim in CLAIMS.values()
        for name in (claim.left, *claim.right)
        for dataset in claim.datasets
    }
    assert set(cells) == wanted and len(cells) == len(wanted)


def test_a_reviewers_commands_measure_the_claims_cells(config, tmp_path):
    rows = measurements.load(put(tmp_path, two(1, 2.8, "nyc")))
    chosen = audit.select(rows, list(CLAIMS.values()))
    audited = audit.audit(chosen, list(CLAIMS.values()), TOLERANCE)
    once = put(tmp_path / "once", {("floyd_warshall/tiled", name): [1.0] for name in ("gnutella04", "gnutella25")})
    text = reviewers.table(pd.concat([rows, measurements.load(once)]), audited, config)
    assert "\n\nCells of the claims with a single run: floyd_warshall/tiled on gnutella04, gnutella25.\n" in text
    lines = [line.split("|") for line in text.splitlines() if line.startswith("|")]
    lines = {line[1].strip(): [cell.strip() for cell in line[2:-1]] for line in lines[2:]}
    named = {"figure5": "Table 1, Figure 5", "figure6": "Table 3, Figure 6"}
    ours = {place for variant in VARIANTS.values() if variant.ours for place in variant.shown}
    one, three = (text.split(",")[0] if figure in ours else text for figure, text in named.items())
    assert list(lines)[:4] == ["All claims", one, "Table 2", three]
    assert len(lines) == 4 + len(CLAIMS)
    for number, claim in enumerate(CLAIMS.values(), start=1):
        command, _, _ = lines[f"{number}. {claim.claim}"]
        said = command.strip("`").removeprefix("snakemake --cores 1 ")
        files = subprocess.check_output(["bash", "-c", f"echo {said}"], text=True).split()
        assert {tuple(Path(file).with_suffix("").parts[2:]) for file in files} == {
            (*name.split("/"), dataset) for name in (claim.left, *claim.right) for dataset in claim.datasets
        }
        for file in files:
            find(*Path(file).parts[2:4])
    _, time, expected = lines[f"5. {CLAIMS['flag_factor'].claim}"]
    # Two cells of five minutes and a last repeat of at most 3 s, begun at the same time.
    assert time == "11 min for 2 of 12 cells"
    assert expected.startswith("reproduced in part<br>nyc: holds, ") and expected.endswith("<br>e: not measured")
    low, high = map(float, re.search(rf"nyc: holds, {CROSS}2\.8 \(([\d.]+) to ([\d.]+)\)", expected).groups())
    finding = audited[4].here["nyc"]
    assert (low, high) == (pytest.approx(finding.low - 0.14, rel=5e-3), pytest.approx(finding.high + 0.14, rel=5e-3))


def test_verdicts_near_no_difference_are_named():
    claim = CLAIMS["stride_small"]
    found = {
        "nyc": audit.Finding(audit.HOLDS, value=0.95, low=0.93, high=0.96),
        "bay": audit.Finding(audit.SAME, value=1.0, low=1.0, high=1.0),
        "col": audit.Finding(audit.HOLDS, value=0.8, low=0.79, high=0.81),
        "fla": audit.Finding(audit.FAILS, value=1.3, low=1.29, high=1.31),
    }
    one, unknown = (audit.Audited(claim, {}, here, {}) for here in (found, {"nyc": audit.Finding(audit.UNKNOWN)}))
    # Claimed: 4 to 6 times, so that a verdict changes at 3.8 and at 6.3.
    found = {
        "gnutella04": audit.Finding(audit.MORE, value=6.6, low=6.6, high=6.7),
        "gnutella25": audit.Finding(audit.LESS, value=3.7, low=3.6, high=3.7),
        "gnutella30": audit.Finding(audit.MORE, value=6.8, low=6.7, high=6.9),
    }
    valued = audit.Audited(CLAIMS["tiled_factor"], {}, found, {})
    said = reviewers.unsure([unknown, one, valued], TOLERANCE)
    assert said == "claim 2 on nyc, bay; claim 3 on gnutella04, gnutella25"
