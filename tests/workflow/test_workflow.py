"""The workflow through Snakemake itself, in a copy of the project with small datasets.

Where only the order of jobs matters, a stub measures: it writes a cell or a job at once, as if the card had no memory.
"""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.api import SnakemakeApi
from snakemake.settings.types import ConfigSettings, ResourceSettings

from kernels import io
from tests.support.project import (
    ALL,
    BAY,
    COMPLETE,
    CPU,
    DATASETS,
    ENVIRONMENT,
    GNUTELLA04,
    JOBS,
    NYC,
    NYC_JOB,
    OTHERS,
    SIMULATOR,
    TABLE1,
    TABLE2,
    Project,
    data,
    measured,
)
from workflow import step
from workflow.data import pack
from workflow.plan import configuration, experiments
from workflow.store import records, tables

DIGEST = "0123456789abcdef"


CELL = "results/cells/bellman_ford/naive/nyc.csv"
TARGETS = {
    "all": ALL,
    "batch": data("nyc", "bay", "gnutella04") | JOBS,
    "table1": data("nyc", "bay") | NYC | BAY | measured(CPU[0]) | {"Table 1"},
    "figure6": data("gnutella04") | GNUTELLA04 | {"Figure 6"},
    "nyc": data("nyc") | NYC | measured(CPU[0]),
    "bellman_ford": data("nyc", "bay", "sample1") | measured(*TABLE1, *OTHERS),
    "naive": data("nyc", "bay", "gnutella04") | measured(TABLE1[1], TABLE1[3], *TABLE2),
    CELL: data("nyc") | measured("bellman_ford/naive/nyc"),
    "audit": data("nyc", "bay", "gnutella04") | JOBS | {"Audit"},
    "archive": {"Keep"},
}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A project in which nothing was run; to be planned in, not changed."""
    return Project.make(tmp_path_factory.mktemp("fresh") / "project")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project in which all was run; to be planned in, not changed."""
    project = Project.make(tmp_path_factory.mktemp("finished") / "project")
    project.snakemake("all")
    return project


@pytest.fixture
def changeable(finished, tmp_path):
    """A copy of the finished project."""
    shutil.copytree(finished.folder, tmp_path / "project")
    return Project(tmp_path / "project")


@pytest.fixture
def load(fresh, monkeypatch):
    """Read the rules of the fresh project; takes cores, resources and configuration."""
    monkeypatch.chdir(fresh.folder)
    monkeypatch.setattr(configuration, "prepare_environment", lambda simulating: None)
    with SnakemakeApi() as api:

        def workflow(cores=1, resources=None, **config):
            resources = ResourceSettings(cores=cores, resources=resources or {})
            loaded = api.workflow(resources, ConfigSettings(config=config), snakefile=Path("Snakefile"))._workflow
            assert loaded.rules  # which reads them
            return loaded

        yield workflow


def last_line(said):
    """Return the last line of a refusal, which Snakemake's wildcards and traceback must not surround."""
    assert not re.search("Traceback|Wildcards|Exception|Error", said)
    return said.splitlines()[-1]


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_plans_that_and_no_more(fresh, target):
    assert fresh.plan(target) == TARGETS[target]


def test_without_a_target_all_is_planned(fresh):
    assert fresh.plan() == ALL


def test_planning_works_in_the_c_locale_and_does_not_import_numba(fresh):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-X", "importtime", "-m", "snakemake", "-n", "--cores", "1", "--config", "mode=auto"]
    planned = subprocess.run(
        [*words, "--configfile", "config.yaml"],
        cwd=fresh.folder,
        env=ENVIRONMENT | locale,
        capture_output=True,
        text=True,
    )
    assert planned.returncode == 0, planned.stderr
    imported = set(re.findall(r"^import time: .* (\S+)$", planned.stderr, re.MULTILINE))
    assert "workflow.plan.planner" in imported and "numba" not in imported


def test_extensions_plan_its_own_and_no_table_or_figure_of_the_papers(tmp_path):
    project = Project.make(tmp_path, sweeps={"delta": {"dataset": "gnutella04"}, "stride": {"dataset": "nyc"}})
    planned = project.plan("extensions")
    assert {"Table 6", "Figure 8", "Table peak_table", "Measure peak on this"} <= planned
    assert {"Figure delta_sweep", "Figure stride_sweep"} <= planned
    assert not planned & {"Table 1", "Table 2", "Table 3", "Figure 5", "Figure 6"}


def test_a_target_runs_that_and_no_more_and_again_nothing(tmp_path):
    project = Project.make(tmp_path)
    there = {"results/.gitkeep"} & set(project.files())

    def runs(target, *new):
        nonlocal there
        project.snakemake(target)
        assert set(project.files()) == there | set(new)
        there |= set(new)

    def cell(name):
        return f"results/cells/{name}.csv", f"results/cells/{name}.json"

    def graph(dataset):
        return f"resources/graphs/{dataset}.txt", f"resources/graphs/{dataset}.npz"

    runs(CELL, *cell(TABLE1[1]), *graph("nyc"))
    runs("stride_flag", *cell(TABLE1[2]), *cell(OTHERS[1]), *graph("sample1"))
    runs(
        "table2",
        *(f"results/batches/one/apsp/gnutella04/{name}" for name in ("timings.csv", "provenance.json")),
        *graph("gnutella04"),
        *(f"results/table2.{end}" for end in ("csv", "md", "html")),
    )
    assert project.plan(CELL, "stride_flag", "table2") == set()


def test_after_all_nothing_is_left_to_run(finished):
    targets = [target for target in TARGETS if target not in ("archive", "bellman_ford", "naive", CELL)]
    assert finished.plan(*targets) == set()
    assert finished.plan("bellman_ford") == data("sample1") | measured(*set(TABLE1) - {CPU[0]}, *OTHERS)
    made = {path for path in finished.files("results", "figures") if path.split("/")[1] not in ("cells", "batches")}
    assert made == {
        *(f"results/table{number}.{end}" for number in (1, 2, 3) for end in ("csv", "md", "html")),
        *(f"figures/{name}.{end}" for name in ("figure5", "figure6", "claims") for end in ("svg", "pdf", "png")),
        "results/timings.csv",
        *(f"results/{name}.{end}" for name in ("claims", "summary", "batches") for end in ("csv", "md", "html")),
        *(f"results/{page}.html" for page in ("glance", "provenance", "configuration")),
        *("results/glance.csv", "results/measurements.zip"),
    }


@pytest.mark.ci
def test_archive_keeps_what_was_measured(changeable):
    changeable.snakemake("archive")
    kept = changeable.files("results/archive/stub-1")
    measured_here = changeable.files("results/batches", "results/cells")
    assert {f"results/archive/stub-1/{name.partition('/')[2]}" for name in measured_here} <= set(kept)
    assert {f"results/archive/stub-1/{name}" for name in ("table1.md", "figure6.png")} <= set(kept)
    assert changeable.plan("all") == set()


def test_what_was_measured_so_far_can_be_audited(tmp_path):
    project = Project.make(tmp_path)
    assert "made: " in project.snakemake("-n", "made", code=1)
    project.snakemake(CELL)
    assert project.plan("audit", "table1", "--config", "mode=simulator") == {"Audit", "Table 1"}
    project.snakemake("audit", "--config", "mode=simulator")
    assert "\n- Measured by this copy of the project.\n" in (tmp_path / "results/claims.md").read_text()


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        *(("ny-c", "did you mean nyc? "), ("stride_flga", "did you mean stride_flag? "), ("xyzzy", "")),
    ],
)
def test_an_unknown_target_is_refused_with_the_nearest_one(fresh, word, hint):
    before = fresh.files()
    said = fresh.snakemake(word, code=1)
    assert last_line(said) == f"unknown target '{word}': {hint}`snakemake --list-target-rules` lists all"
    assert fresh.files() == before


def test_a_dataset_without_variants_is_refused_as_that(fresh, tmp_path):
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump({"datasets": {"bare": COMPLETE}}))
    said = fresh.snakemake("bare", "--configfile", str(tmp_path / "bare.yaml"), code=1)
    assert last_line(said) == "config: datasets.bare: no variants are listed: list them under cpu or gpu"


def test_all_targets_are_listed(fresh):
    said = fresh.snakemake("--list-target-rules")
    named = "all extensions archive readme table1 table2 table3 figure5 figure6 "
    variants = "bellman_ford dijkstra floyd_warshall cpu naive stride_flag tiled"
    assert {*DATASETS, *(named + variants).split()} <= set(said.split())


def test_in_the_simulator_a_variants_target_checks_all_cells_in_one_job(fresh):
    for targets in (["stride_flag"], ["results/simulated.csv", "stride_flag"]):
        made = fresh.plan(*targets, "--config", "mode=auto", environment=SIMULATOR)
        assert made == data("sample1") | {"Check"}
    together = fresh.plan("stride_flag", "--config", "mode=cuda", environment=SIMULATOR)
    assert together == data("sample1") | measured(OTHERS[1])


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("cells/bellman_ford/strde/nyc.csv", "there is no variant bellman_ford/strde: .*stride_flag"),
        ("cells/bellman_ford/naive/nyk.csv", "there is no dataset 'nyk': .* nyc, bay, gnutella04"),
        *(
            (f"batches/{name}/sssp/nyc/timings.csv", re.escape(f"batch: {name!r} "))
            for name in ("$(touch PWNED)", "-x")
        ),
    ],
)
def test_a_file_of_an_unknown_cell_or_batch_is_refused(fresh, file, message):
    assert re.match(message, last_line(fresh.snakemake("-n", f"results/{file}", code=1)))


def test_a_file_of_this_machine_that_is_not_there_is_named_with_its_key(tmp_path):
    """Where it was there once, its graph is used on."""
    datasets = {"nyc": DATASETS["nyc"] | {"sources": ["data/mine.txt"]}}
    project = Project.make(tmp_path, datasets=datasets)
    said = project.snakemake("-n", CELL, code=1)
    assert last_line(said).startswith("config: datasets.nyc.sources: data/mine.txt: ")
    (tmp_path / "data").mkdir()
    sample = shutil.copy(tmp_path / "workflow/samples/sample3.txt", tmp_path / "data/mine.txt")
    project.snakemake("resources/graphs/nyc.npz")
    Path(sample).unlink()
    assert project.plan(CELL) == measured(TABLE1[1])


def test_a_source_that_is_no_vertex_is_refused_where_it_is_used(fresh):
    """nyc has 13 vertices, bay 5; gnutella04 is searched from all."""
    given = fresh.folder / "source.yaml"
    given.write_text("protocol: {source: 12}")
    second = "--configfile", "config.yaml", str(given), "--"
    for target in (NYC_JOB, CELL, "table2"):
        assert fresh.plan(*second, target)
    for target, mode in (("table1", {}), ("results/simulated.csv", SIMULATOR)):
        said = fresh.snakemake("-n", *second, target, code=1, environment=mode or ENVIRONMENT)
        assert re.search(r"config: protocol.source: 12 .*(bay|sample1): .* 0 to 4", said)


def test_an_unknown_or_duplicate_key_ends_before_any_job(fresh, tmp_path):
    second = tmp_path / "second.yaml"
    for text, message in (
        ("protocol: {repeat: 1}", "config: unknown key 'repeat' at protocol: choose from warmup_launches, "),
        ("protocol:\n  repeats: 1\n  repeats: 2\n", f"{second}, line 3: duplicate key repeats"),
    ):
        second.write_text(text)
        said = fresh.snakemake("nyc", "--configfile", "config.yaml", str(second), code=1)
        assert last_line(said).startswith(message)
    assert not (fresh.folder / "resources").exists()


def test_a_dataset_called_like_any_rule_or_target_is_refused(fresh, tmp_path):
    said = fresh.snakemake("--list-rules", "--quiet", "all")
    rules = set(re.findall(r"^\w+$", said, re.MULTILINE)) - {
        name for cell in experiments.cells_of({"datasets": DATASETS}) for name in cell
    }
    assert {"all", "table1", "figure5", "measure", "delta_sweep", "archive", "unknown_target"} <= rules
    project = Project.make(tmp_path, datasets=DATASETS | dict.fromkeys(rules, COMPLETE))
    said = project.snakemake("nyc", code=1)
    (clash,) = re.findall("^config: dataset (.*) has the name of a rule or target: rename it$", last_line(said))
    assert set(clash.split(", ")) == rules


@pytest.mark.ci
def test_a_job_with_a_missing_package(tmp_path):
    """It ends, or with `keep_going` measures the other variants, which table 6 shows."""
    nyc = DATASETS["nyc"] | {"gpu": [], "cpu": ["dijkstra/scipy", "dijkstra/networkit"], "tables": {"sssp": ["table6"]}}
    project = Project.make(tmp_path, datasets={"nyc": nyc}, stub=False)
    (tmp_path / "networkit.py").write_text("raise ImportError('no lib')")  # found before the installed one

    def run(*words):
        process = project.start(NYC_JOB, *words)
        return process.communicate()[0], process.returncode

    said, code = run()
    assert code == 1 and "Traceback" not in said
    (reason,) = re.findall(f"{NYC_JOB}: .*dijkstra/networkit cannot run: (networkit .*no lib): ", said)
    assert not (tmp_path / NYC_JOB).exists()

    project.configure(protocol={"keep_going": True})
    said, code = run("table6")
    assert code == 0, said
    with open(tmp_path / NYC_JOB, newline="") as file:
        rows = {(row["variant"], row["status"], row["note"]) for row in csv.DictReader(file)}
    assert rows == {("scipy", "ok", ""), ("networkit", "unavailable", reason)}


@pytest.mark.parametrize("name", ["config.yaml", "second.yaml"])
def test_a_configuration_that_is_not_utf_8_ends_in_one_message(tmp_path, name):
    project = Project.make(tmp_path)
    with open(tmp_path / name, "ab") as file:
        file.write(b"# caf\xe9\n")
    said = project.snakemake("-n", "nyc", *(["--configfile", name] if name == "second.yaml" else []), code=1)
    assert re.search(rf"^{name}: not UTF-8 \(byte \d+\): save it as UTF-8$", said.splitlines()[-1])
    assert "Traceback" not in said and 'File "' not in said


@pytest.mark.parametrize("words", [["--configfile", "second.yaml"], ["--config", "x={a: &a {b: *a}}"]])
def test_a_configuration_without_end_ends_in_one_message(tmp_path, words):
    project = Project.make(tmp_path)
    (tmp_path / "second.yaml").write_text("x: &a {b: *a}\n")
    said = project.snakemake("-n", "nyc", *words, code=1)
    assert re.fullmatch(r"(x|second\.yaml), line 1: \*a is inside .*: delete it", said.splitlines()[-1])
    assert "Traceback" not in said and 'File "' not in said


def test_a_step_that_fails_ends_with_its_message(tmp_path):
    said = Project.make(tmp_path).snakemake("compare", "--config", "mode=simulator", code=1)
    assert said.count("run snakemake --cores 1 batch") == 1
    assert "compare failed: see logs/compare.log" in said
    assert not re.search("RuleException|CalledProcessError|message: None|Traceback", said)


def test_a_target_after_configfile_is_refused(fresh):
    said = fresh.snakemake("--configfile", "config.yaml", "table1", code=1)
    assert "--configfile: table1: no such file" in last_line(said) and "snakemake table1 --configfile" in said


def test_four_cards_are_planned_without_a_gpu(fresh):
    words = "-n", "batch", "--config", "mode=auto", "--resources"
    assert "no GPU is visible" in fresh.snakemake(*words, "gpu=1", code=1)
    assert "Measure sssp on nyc, batch one" in fresh.snakemake(*words, "gpu=4")


def test_a_reason_lists_a_few_files(fresh):
    reasons = re.findall("(?i)reason: .*", fresh.snakemake("-n", "all"))
    assert reasons and max(map(len, reasons)) < 200


def test_a_broken_file_of_numbas_settings_ends_before_any_job(tmp_path):
    project = Project.make(tmp_path)
    (tmp_path / ".numba_config.yaml").write_text("opt: [")
    said = project.snakemake("-n", "nyc", code=1)
    assert ".numba_config.yaml: " in said and "numba/core" not in said


def test_a_broken_record_ends_before_any_job_until_its_csv_is_deleted(tmp_path):
    project = Project.make(tmp_path)
    table = tmp_path / CELL
    table.parent.mkdir(parents=True)
    table.write_text("algorithm\n")
    records.beside(table).write_text("{}")
    said = project.snakemake(CELL, code=1)
    assert re.search(rf"nyc\.json: .* delete {CELL} ", said)
    assert not (tmp_path / "resources").exists()
    table.unlink()
    project.snakemake(CELL)
    assert records.read(records.beside(table))


@pytest.mark.parametrize(
    ("file", "due"),
    [("cells/floyd_warshall/cpu/gnutella04.csv", measured(CPU[1])), ("batches/one/sssp/nyc/provenance.json", NYC)],
)
def test_an_empty_csv_and_one_without_a_record_are_measured_again(changeable, file, due):
    path = changeable.folder / "results" / file
    intact = path.read_text()
    if path.suffix == ".csv":
        path.write_text("")
    else:
        path.unlink()
    targets = [f"results/{table}.csv" for table in ("table1", "table3")]
    assert {job for job in changeable.plan(*targets) if job.startswith("Measure")} == due
    changeable.snakemake(*targets)
    assert path.read_text() == intact
    assert changeable.plan(*targets) == set()


def test_forced_reruns(finished):
    assert finished.plan("-F", "nyc") == TARGETS["nyc"]
    assert finished.plan("-f", CELL) == measured(TABLE1[1])
    assert finished.plan("-R", "table1") == {"Table 1"}
    assert measured(*CPU) <= finished.plan("-R", "measure")
    assert finished.plan("-R", "job") >= JOBS


def test_a_forced_job_another_batch_and_a_cell_measured_again(changeable):
    """A batch and a cell replace nothing, and neither is due if a revision is raised."""
    path = changeable.folder / NYC_JOB
    forced = path.stat().st_mtime_ns
    changeable.snakemake("-f", NYC_JOB)
    assert path.stat().st_mtime_ns > forced
    before = changeable.files("results/batches", "results/cells")
    changeable.snakemake("batch", CELL, "--config", "protocol={batch: two}")
    assert before.items() < changeable.files("results/batches", "results/cells").items()
    assert changeable.plan() == ALL - data("nyc", "bay", "gnutella04") - JOBS - measured(*CPU)
    changeable.snakemake("results/timings.csv")
    rows = (changeable.folder / "results/timings.csv").read_text().splitlines()[1:]
    assert sorted(row.split(",")[4] for row in rows if row.startswith("bellman_ford,naive,sssp,nyc,")) == [
        "",
        "one",
        "two",
    ]
    changeable.raise_revision("bellman_ford/naive")
    assert {job for job in changeable.plan() if job.startswith("Measure")} == NYC | BAY


AFTER_ANY = {"Collect", "Summary", "Appendix", "Legend"}
AFTER_TABLE1 = {"Table 1", "Figure 5"} | AFTER_ANY
AFTER_TABLE3 = {"Table 3", "Figure 6"} | AFTER_ANY


@pytest.mark.parametrize(
    ("variant", "due"),
    [
        ("bellman_ford/stride_flag", NYC | AFTER_TABLE1 | {"Audit", "Picture"}),
        ("dijkstra/naive", GNUTELLA04 | AFTER_TABLE3 | {"Table 2", "Audit", "Picture"}),
        ("floyd_warshall/cpu", measured("floyd_warshall/cpu/gnutella04") | AFTER_TABLE3 - {"Figure 6"}),
    ],
)
def test_a_raised_revision_makes_the_variants_cells_due(changeable, variant, due):
    changeable.raise_revision(variant)
    assert changeable.plan() == due


def test_refactoring_makes_nothing_due(changeable):
    """A renamed kernel, a moved module, other docstrings, also of the rules' scripts."""
    kernels = changeable.folder / "kernels"
    for path in kernels.rglob("*.py"):
        text = path.read_text()
        text = text.replace("relax_naive", "lower_naive").replace("paper.bellman_ford", "paper.one_source")
        text = text.replace("paper import bellman_ford, dijkstra", "paper import dijkstra, one_source as bellman_ford")
        path.write_text(text)
    module = (kernels / "paper/bellman_ford.py").rename(kernels / "paper/one_source.py")
    module.write_text(module.read_text().replace('"""', '"""Changed. ', 1))
    for path in (changeable.folder / "workflow/scripts").glob("*.py"):
        path.write_text(path.read_text().replace('"""', '"""Changed. ', 1))
    assert "lower_naive" in module.read_text()
    assert changeable.plan() == set()


def test_measurements_without_a_revision_are_refused_and_stay(changeable):
    """Files with a digest in the column `code`."""
    changeable.snakemake(CELL)
    results = changeable.folder / "results"
    measured_files = [*results.glob("batches/*/*/*/timings.csv"), *results.glob("cells/*/*/*.csv")]
    for path in measured_files:
        beside = records.beside(path)
        beside.write_text(beside.read_text().replace('"revision": "", "settings": ""', f'"code": "{DIGEST}"'))
        text = path.read_text().replace("revision,settings,", "code,", 1)
        path.write_text(re.sub(r"(?m)^(.*),1,,(?=\w{64},)", rf"\1,{DIGEST},", text))
        assert text != path.read_text() and DIGEST in path.read_text()
    before = [path.read_bytes() for path in measured_files]
    for target in ("all", f"-f {CELL}"):
        said = changeable.snakemake(*target.split(), code=1)
        assert "'revision'" in said or "revision,settings" in said
    assert [path.read_bytes() for path in measured_files] == before


def test_a_variant_under_another_head_makes_due_what_shows_it_and_no_cell(changeable):
    path = changeable.folder / "workflow/paper/tables.yaml"
    path.write_text(path.read_text().replace("stride_flag: Stride with Flag", "stride_flag: Flag"))
    assert changeable.plan() == {"Table 1", "Figure 5"}


def test_each_table_and_figure_is_due_if_other_variants_are_in_it(load):
    rules = {rule.name: rule for rule in load().rules}
    views = {name: name for name in tables.SHOWN} | {"figure8": "table6"}
    assert len(views) == 9
    for rule, name in views.items():
        assert rules[rule].params.heads == step.digest(json.dumps(tables.heads(name)).encode())


@pytest.mark.parametrize(
    ("data", "rules"),
    [("claims.csv", ("audit", "claims_figure", "compare", "appendix")), ("peers.csv", ("table6", "figure8"))],
)
def test_a_changed_line_of_the_papers_data_makes_due_what_shows_it(load, data, rules):
    assert {rule.name for rule in load().rules if f"workflow/paper/{data}" in map(str, rule.input)} == set(rules)


def test_edited_and_touched_files_make_no_cell_due(changeable):
    for path in (changeable.folder / "kernels").rglob("*.py"):
        path.touch()
    for dataset in ("nyc", "bay", "gnutella04"):
        (changeable.folder / f"resources/graphs/{dataset}.npz").touch()
    assert changeable.plan() == set()
    for module in ("views/paper/figures", "views/paper/audit", "store/collect", "store/measurements"):
        path = changeable.folder / f"workflow/{module}.py"
        path.write_text(path.read_text() + "\n")
    assert not [job for job in changeable.plan() if job.startswith(("Measure", "Pack", "Convert"))]


def test_a_rebuilt_graph_makes_no_cell_due(changeable):
    before = changeable.files("results", "resources/graphs")
    for path in (changeable.folder / "resources/graphs").glob("bay.*"):
        path.unlink()
    assert changeable.plan("resources/graphs/bay.npz") == data("bay")
    changeable.snakemake("resources/graphs/bay.npz")
    assert changeable.files("results", "resources/graphs") == before
    assert changeable.plan() == set()


def test_a_replaced_file_of_this_machine_makes_its_cells_due_also_if_the_graph_was_made_before(tmp_path):
    project = Project.make(tmp_path, datasets={"nyc": DATASETS["nyc"] | {"sources": ["data/mine.txt"]}})
    (tmp_path / "data").mkdir()
    source, graph = tmp_path / "data/mine.txt", "resources/graphs/nyc.npz"
    shutil.copyfile(tmp_path / "workflow/samples/sample3.txt", source)
    project.snakemake(CELL)

    source.write_text(re.sub(r"(?m)^(\d+ \d+) \d+$", r"\1 7", source.read_text()))
    assert project.plan(CELL) == data("nyc") | measured(TABLE1[1])
    project.snakemake(graph)
    assert project.plan(CELL) == measured(TABLE1[1])
    project.snakemake(CELL)
    assert project.plan(CELL) == set()
    (record,) = records.read(records.beside(tmp_path / CELL)).values()
    assert record["graph"]["sha256"] == pack.digest(tmp_path / graph) == io.sha256(source)

    source.write_text(source.read_text().replace(" 7\n", " 8\n"))
    (tmp_path / graph).unlink()
    assert measured(TABLE1[1]) <= project.plan(CELL)


@pytest.mark.parametrize("change", [{"weights": {"min": 1, "max": 9, "seed": 2}}, {"substitute": "made up"}])
def test_a_changed_dataset_makes_its_cells_due(finished, tmp_path, change):
    """By a second --configfile, which replaces single keys."""
    second = tmp_path / "second.yaml"
    second.write_text(yaml.safe_dump({"datasets": {"bay": change}}))
    due = finished.plan("--configfile", "config.yaml", str(second), "--")
    assert due == data("bay") | BAY | AFTER_TABLE1 | {"Audit", "Picture"}


def test_another_protocol_makes_all_cells_due_and_other_keys_none(changeable):
    changeable.configure(download={"retries": 1}, archives={"snap": ["http://127.0.0.1"]}, commit="abc")
    assert changeable.plan() == {"Appendix"}
    changeable.configure(protocol={"repeats": 2})
    assert changeable.plan() == ALL - data("nyc", "bay", "gnutella04")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("bay", "bellman_ford/naive/bay cannot be measured here"),
        (CELL, "bellman_ford/naive on nyc cannot be measured here"),
        ("results/simulated/bellman_ford/naive/nyc.csv", "nyc is too large .*sample1"),
        ("results/sources/bay.csv", "sources of bay cannot be measured here"),
        ("results/many_sources/bay.csv", "many_sources of bay cannot be measured here"),
        ("results/all_pairs/sample1/2/0.parquet", "all_pairs of sample1: there is no part 0 of 2"),
    ],
)
def test_in_the_simulator_a_measurement_on_a_gpu_ends_before_any_job(fresh, target, why):
    before = fresh.files()
    said = fresh.snakemake(target, code=1, environment=SIMULATOR)
    assert len(re.findall(why, said)) == 1
    assert "Job " not in said
    assert fresh.files() == before and not (fresh.folder / "logs").exists()


def test_no_parameter_passes_through_a_shell(load):
    assert not [rule.name for rule in load().rules if rule.shellcmd]


def test_the_name_of_a_file_of_this_machine_is_no_part_of_a_command(tmp_path):
    names = {"mine": "x $(touch PWNED).txt", "yours": "-it's;\ntouch PWNED; *.txt", "word": "graph"}
    entry = DATASETS["nyc"] | {"gpu": [], "cpu": ["bellman_ford"]}
    project = Project.make(tmp_path, datasets={key: entry | {"sources": [name]} for key, name in names.items()})
    sample = (tmp_path / "workflow/samples/sample3.txt").read_text()
    for name in names.values():
        (tmp_path / name).write_text(sample)
    before = set(tmp_path.iterdir())
    made = [f"resources/graphs/{dataset}.txt" for dataset in names]
    project.snakemake(*made)
    assert [(tmp_path / path).read_text() for path in made] == [sample] * 3
    assert {path.name for path in set(tmp_path.iterdir()) - before} == {".snakemake", "logs", "resources"}


def test_lint_finds_nothing(fresh):
    assert "in a good condition" in fresh.snakemake("--lint")


def test_one_timed_run_at_a_time_whatever_is_exported_for_slurm(load, monkeypatch):
    monkeypatch.setenv("GPU_REQUEST", "gres")
    (job,) = (rule for rule in load().rules if rule.name == "job")
    assert job.resources["gpu"].raw == 1
