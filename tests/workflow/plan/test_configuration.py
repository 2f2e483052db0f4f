"""config.yaml is checked by its schema, and decides cells, targets and what makes a cell due."""

import copy
import csv
import math
import re
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import yaml

from kernels import generate
from kernels.errors import InputError
from kernels.registry import VARIANTS
from tests.support.pages import block
from tests.support.published import CONFIG
from workflow.plan import allocation, conditions, configuration, experiments, result_paths
from workflow.store import tables

ROOT = Path(__file__).parents[3]
SCHEMA = configuration.SCHEMA
WHOLE = yaml.safe_load((ROOT / "config.yaml").read_text())
with open(ROOT / "workflow" / "paper" / "times.csv") as file:
    TIMES = list(csv.DictReader(file))


@pytest.fixture
def config():
    return copy.deepcopy(CONFIG)


def refused(config):
    with pytest.raises(InputError) as error:
        configuration.check_config(config)
    return str(error.value)


def at(tree, path):
    """What stands at the end of a dotted path of keys; the tree itself for an empty one."""
    for key in filter(None, path.split(".")):
        tree = tree[key]
    return tree


def put(config, path, value):
    *above, key = path.split(".")
    at(config, ".".join(above))[key] = value


def test_the_projects_config_is_valid():
    configuration.check_config(WHOLE)


def test_config_with_the_substitutes_is_valid():
    def merge(below, above):
        for key, value in above.items():
            below[key] = merge(below.get(key, {}), value) if isinstance(value, dict) else value
        return below

    configuration.check_config(
        merge(copy.deepcopy(WHOLE), yaml.safe_load((ROOT / "workflow" / "substitutes.yaml").read_text()))
    )


def test_the_example_of_a_dataset_is_valid_and_not_too_large_for_the_simulator(config):
    ((name, entry),) = yaml.safe_load(block("extending.md", "datasets:\n", "yaml"))["datasets"].items()
    config["datasets"][name] = entry
    configuration.check_config(config)
    assert {cell[1] for cell in experiments.cells_of(config, [name])} >= {"stride_flag", "cpu", "scipy"}
    assert not [cell for cell in experiments.simulated_cells(config) if cell[2] == name]
    assert [cell for cell in experiments.table_cells(config, "table1") if cell[2] == name]


def parts(schema, path=""):
    """All parts of a schema, by the dotted path of the value that they describe; * is any name or item."""
    yield path, schema
    below = {**schema.get("properties", {}), "*": schema.get("additionalProperties") or schema.get("items")}
    for key, part in below.items():
        if isinstance(part, dict):
            yield from parts(part, f"{path}.{key}".lstrip("."))


PARTS = dict(parts(SCHEMA))


def test_the_schema_describes_every_key_and_is_closed_but_for_names():
    assert {"mode", "protocol.block", "datasets.*.weights.seed"} <= set(PARTS)
    assert [path for path, part in PARTS.items() if len(part.get("description", "").split()) < 2] == []
    objects = {path: part for path, part in PARTS.items() if "object" in np.atleast_1d(part.get("type", ""))}
    assert [path for path, part in objects.items() if part["additionalProperties"] is not False] == [
        "archives",
        "datasets",
    ]


def test_the_schema_limits_every_number_and_says_every_pattern_in_words():
    numbers = [part for part in PARTS.values() if {"integer", "number"} & set(np.atleast_1d(part.get("type", "")))]
    assert len(numbers) > 30
    for part in numbers:
        assert part.keys() & {"minimum", "exclusiveMinimum"} and part.keys() & {"maximum", "exclusiveMaximum"}, part
    assert all(part.get("uniqueItems") for part in PARTS.values() if part.get("type") == "array")
    patterns = [each for part in PARTS.values() for each in (part, part.get("propertyNames", {})) if "pattern" in each]
    assert len(patterns) > 8 and all(each.get("$comment") for each in patterns)


LEVELS = ["", "protocol", "datasets.nyc", "datasets.gnutella04.weights", "datasets.powerlaw.generate"]


@pytest.mark.parametrize("level", LEVELS)
def test_an_unknown_key_is_refused_with_the_valid_ones(config, level):
    put(config, f"{level}.blokc".lstrip("."), 1)
    said, valid = refused(config).split(": choose from ")
    assert said == f"config: unknown key 'blokc' at {level or 'the top level'}"
    assert valid.split(", ") == list(PARTS[re.sub(r"^datasets\.\w+", "datasets.*", level)]["properties"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mode", "gpu"),
        ("archive", "../h200"),
        ("archive", "h200\n"),
        ("commit", None),
        ("commit", "faa6cfe\n"),
        ("commit", "one\ntwo"),
        ("commit", "$(touch here)"),
        ("protocol", []),
        ("protocol.repeats", 0),
        ("protocol.repeats", 6.0),
        ("protocol.repeats", True),
        ("protocol.delta", 2**31 - 1),
        ("protocol.source", 2**31 - 1),
        ("protocol.source", -1),
        ("protocol.block", 2048),
        ("protocol.warmup_launches", -1),
        ("protocol.budget_s", 0),
        ("protocol.budget_s", 1e300),
        ("protocol.budget_s", math.nan),
        ("protocol.timeout_s", math.inf),
        ("protocol.timeout_s", -0.0),
        ("protocol.timeout_s", True),
        ("protocol.tile", 33),
        ("simulator.block", 64),
        ("download.retries", 10**6),
        ("download.backoff_s", math.nan),
        ("archives.snap", []),
        ("archives.snap", ["ftp://snap"]),
        ("archives.snap", ["https://snap\n"]),
        ("archives.snap", ["https://snap and more"]),
        ("archives", {1: ["https://snap"]}),
        ("audit.tolerance", math.nan),
        ("sweeps.stride.shares", [0.5, math.nan]),
        ("datasets", {}),
        ("datasets.Upper", {"format": "text", "vertices": 1, "arcs": 0}),
        ("datasets.x\n", {"format": "random", "vertices": 1, "arcs": 0}),
        ("datasets." + "x" * 65, {"format": "random", "vertices": 1, "arcs": 0}),
        ("datasets.nyc", {"format": "dimacs", "vertices": 1}),
        ("datasets.nyc.sha256", "any\n"),
        ("datasets.nyc.format", "metis"),
        ("datasets.nyc.vertices", 0),
        ("datasets.nyc.vertices", 2**31),
        ("datasets.nyc.arcs", 2**31),
        ("datasets.nyc.substitute", "one; two"),
        ("datasets.nyc.substitute", "one\ntwo"),
        ("datasets.nyc.substitute", "one\n"),
        ("datasets.nyc.substitute", " "),
        ("datasets.gnutella04.weights.min", 0),
        ("datasets.gnutella04.weights.max", 2**31 - 1),
        ("datasets.gnutella04.weights", {"min": 1, "max": 2}),
        ("datasets.gnutella04.weights", {"min": 9, "max": 1, "seed": 1}),
        ("datasets.powerlaw.generate", {"seed": -1}),
        ("datasets.powerlaw.generate", {"seed": 1, "skew": 2}),
        ("datasets.powerlaw.generate", {"seed": 1, "skew": math.inf}),
        ("datasets.nyc.tables", {"sssp": ["table1"], "apsp": ["table3", "table1"]}),
        ("datasets.nyc.tables", {"sssp": ["table4"]}),
        ("datasets.nyc.skip", ["*_graph", "stride_flag"]),
        ("sweeps.delta.dataset", "nyk"),
        ("sweeps.stride.dataset", "nyk"),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(config, path, value):
    put(config, path, value)
    message = refused(config)
    above = path.rpartition(".")[0] or "the top level"
    assert message.startswith((f"config: {path}: ", f"config: {path}.", f"config: {above}: "))
    assert "\n" not in message


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("protocol.repeats", "5", "'5' .*'integer'.*--config"),
        ("protocol.delta", "5", "'5' .*'integer', 'null'.*--config"),
        ("datasets.nyc.simulate", "false", "'false' .*'boolean'.*--config"),
        ("protocol.batch", date(2026, 11, 22), "2026-11-22 .* quotes"),
        ("protocol.batch", 12, "12 .* quotes"),
        ("commit", 1234567, "1234567 .* quotes"),
        ("protocol.batch", "a b", "'a b' must be letters"),
        ("datasets.nyc.sha256", "abc", "'abc' must be 64 hex"),
        ("datasets.nyc.sources", "a.gr", "'a.gr' .*'array'$"),
        ("protocol.repeats", 10**30, "1000000000000000000000000000000 .* 1000000:"),
        ("protocol.warmup_launches", 10**18, "1000000000000000000 .* 1000000:"),
        ("sweeps.delta.deltas", [1, 2, 1], "1 .*twice"),
        ("protocol.once", ["dijkstra/cpu", "dijkstra/cpu"], "'dijkstra/cpu' .*twice"),
        ("protocol.once", ["nothing/at_all"], "'nothing/at_all' .* bellman_ford/"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_in_words(config, path, value, said):
    put(config, path, value)
    assert re.search(rf"^config: {path}: {said}", refused(config))


@pytest.mark.parametrize("name", ["a b", "$(x)", "-x", "../x", "a\n"])
def test_what_no_batch_may_be_called(name):
    with pytest.raises(InputError, match=r"^batch: "):
        configuration.check_batch(name)


def test_the_number_of_a_batch_may_follow_the_longest_name():
    configuration.check_batch("x" * 64 + "-2")


@pytest.mark.parametrize("key", SCHEMA["required"])
def test_a_missing_key_is_refused(config, key):
    del config[key]
    assert refused(config).startswith(f"config: the top level: '{key}' ")


@pytest.mark.parametrize("pattern", ["bellman", "bellman_ford/strid", "bellman_ford/", "cpu", "bellman_ford/cpu"])
def test_an_unknown_algorithm_of_a_dataset_lists_the_valid_ones(config, pattern):
    config["datasets"]["bay"]["gpu"] = [pattern]
    said, valid = refused(config).split(": choose one of ")
    assert said == f"config: datasets.bay.gpu: {pattern!r} is no GPU variant"
    gpu = {key for key, variant in VARIANTS.items() if variant.on_gpu}
    assert set(valid.split(", ")) == gpu | {key.split("/")[0] for key in gpu}


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("nyc.generate", {"seed": 1}, "not allowed for format dimacs"),
        ("powerlaw.sources", ["snap:a.gz"], "not allowed for format random"),
        ("sample2.sources", ["snap:a.gz"], "not allowed for format random"),
        ("bay.cpu", ["bellman_ford/naive"], "'bellman_ford/naive' "),
        ("grid250.tables", {"sssp": ["table6", "table1"]}, "table1 "),
        ("powerlaw.family", "rmat", ""),
        ("powerlaw.generate", {"seed": 1, "draws": 2}, "draws "),
    ],
)
def test_keys_of_a_dataset_that_exclude_each_other_are_refused(config, path, value, reason):
    put(config, f"datasets.{path}", value)
    assert refused(config).startswith(f"config: datasets.{path}: {reason}")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *((f"{name}.tables", {"sssp": ["table6"]}) for name in ("pareto1200", "ne_half_zero")),
        ("geometric20.weights", {"min": 1, "max": 2, "seed": 1}),
    ],
)
def test_keys_that_a_graph_measured_only_by_name_cannot_have(path, value):
    config = copy.deepcopy(WHOLE)
    put(config, f"datasets.{path}", value)
    assert refused(config).startswith(f"config: datasets.{path}: ")


def test_a_graph_that_is_not_random_has_sources(config):
    del config["datasets"]["nyc"]["sources"]
    assert refused(config).startswith("config: datasets.nyc.sources: missing")


@pytest.mark.parametrize("pattern", ["bellman_ford/frontier", "stride"])
def test_a_skip_that_matches_nothing_lists_the_variants(config, pattern):
    config["datasets"]["bay"]["skip"].append(pattern)
    said, variants = refused(config).split(": choose from ")
    assert said == f"config: datasets.bay.skip: {pattern!r} matches no variant"
    assert set(variants.split(", ")) == set(VARIANTS)


def test_a_second_configfile_may_name_fewer_algorithms_and_leave_skip(config):
    config["datasets"]["sample2"] |= {"gpu": ["bellman_ford/naive"], "cpu": []}
    configuration.check_config(config)


@pytest.mark.parametrize("key", ["sweeps.sources", "all_pairs"])
def test_an_unknown_dataset_of_a_sweep_lists_the_valid_ones(config, key):
    (config["all_pairs"] if key == "all_pairs" else config["sweeps"]["sources"])["datasets"] = ["nyc", "nyk"]
    assert re.match(rf"config: {key}\.datasets: .*'nyk'.* nyc, ", refused(config))


@pytest.mark.parametrize("mode", ["simulator", "cuda"])
def test_an_archive_that_would_be_drawn_must_exist(config, mode, monkeypatch, tmp_path):
    """It is not drawn on a machine that measures, nor if something was measured. The project's archives count too."""
    monkeypatch.chdir(tmp_path)
    for name in ("h100", "h200"):
        kept = tmp_path / "results" / "archive" / name / "cells/dijkstra/scipy/nyc.csv"
        kept.parent.mkdir(parents=True)
        kept.touch()
    configuration.check_config(config)
    config |= {"mode": mode, "archive": "h300"}
    if mode == "simulator":
        assert re.search(r"nothing in results/archive/h300/ .* are h100, h100-80gb-hbm3, h200$", refused(config))
        cell = tmp_path / "results" / "cells" / "dijkstra" / "naive" / "nyc.csv"
        cell.parent.mkdir(parents=True)
        cell.touch()
    configuration.check_config(config)


def test_a_key_that_stands_twice_is_refused_where_it_does(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("datasets:\n  nyc: {arcs: 1}\n  bay: {arcs: 1}\n  nyc: {arcs: 2}\n")
    with pytest.raises(InputError, match=f"^{file}, line 4: duplicate key nyc: "):
        configuration.check_keys(file)
    file.write_text("list: [{a: 1}, {a: 1, b: 1, a: 2}]\n")
    with pytest.raises(InputError, match="line 1: "):
        configuration.check_keys(file)
    file.write_text('{"JSON with a tab":\t{"a": 1}}')
    configuration.check_keys(file)
    configuration.check_keys(ROOT / "config.yaml")


BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("x: &a [*a]", 1, r"\*a "),
        ("protocol:\n  once: &a\n    b: {c: *a}", 3, r"\*a "),
        (BOMB, 6, ".* 100,000 "),
        (BOMB.replace("[", "{? ").replace("]", "}"), 6, ".* 100,000 "),
        (f"x: &a [{'1, ' * 1000}]\ny: [{'*a, ' * 200}]", 2, ".* 100,000 "),
        (f"x: {'[' * 3000}{']' * 3000}", 1, ".* 50 levels"),
        ('{"x":\t' + "[" * 10**5 + "]" * 10**5 + "}", 1, ".* 50 levels"),
    ],
)
def test_yaml_without_end_or_nearly_so_is_refused(tmp_path, text, line, said):
    file = tmp_path / "config.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=f"^{file}(, line {line})?: {said}"):
        configuration.check_keys(file)


def test_aliases_that_end_are_read(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(f"x: &a [1, &b {{c: d}}]\ny: [*a, *b, &a 1, *a]\nz: [{'1, ' * 200_000}]\n")
    configuration.check_keys(file)
    file.write_text("x: [*a, 1]")  # Snakemake says that there is no &a
    configuration.check_keys(file)


def test_names_that_would_clash_are_refused(config):
    config["datasets"]["naive"] = config["datasets"].pop("bay")
    assert refused(config).startswith("config: dataset naive ")
    config["datasets"]["bay"] = config["datasets"].pop("naive")
    config["datasets"]["bay"]["sources"] = config["datasets"]["nyc"]["sources"]
    configuration.check_config(config)  # one file, two datasets
    config["datasets"]["bay"]["sources"] = ["/elsewhere/USA-road-d.NY.gr.gz"]
    assert " USA-road-d.NY.gr.gz" in refused(config)


def test_a_cell_for_each_variant_of_what_a_dataset_lists(config):
    config["datasets"]["bay"] |= {"gpu": ["bellman_ford/naive", "dijkstra"], "cpu": ["floyd_warshall/cpu"]}
    cells = experiments.cells_of(config, ["bay"])
    dijkstra = [("dijkstra", v.name, "bay") for v in VARIANTS.values() if v.algorithm == "dijkstra" and v.on_gpu]
    assert cells == [("floyd_warshall", "cpu", "bay"), ("bellman_ford", "naive", "bay"), *dijkstra]
    config["datasets"]["bay"] |= {"gpu": ["dijkstra", "dijkstra/naive"], "cpu": []}
    assert experiments.cells_of(config, ["bay"]) == dijkstra


def test_targets_are_datasets_algorithms_and_variants(config):
    targets = experiments.targets(config)
    everything = [cell for cell in experiments.cells_of(config) if cell not in experiments.named_cells(config)]
    by_name = {cell[2] for cell in experiments.named_cells(config)}
    assert set(targets) == {name for cell in everything for name in cell} | by_name
    assert targets["nyc"] == [cell for cell in everything if cell[2] == "nyc"]
    assert targets["dijkstra"] == [cell for cell in everything if cell[0] == "dijkstra"]
    naive = targets["naive"]
    assert {cell[0] for cell in naive} == {"bellman_ford", "dijkstra", "floyd_warshall"}
    assert {cell[1] for cell in naive} == {"naive"}


BY_NAME = (
    *("geometric20", "preferential20", "dag2m", "uniform21x8", "pareto1200", "rmat22", "rmat24", "rmat25"),
    "ne_half_zero",
)


def test_families_are_measured_by_their_names_alone():
    """No table, figure, algorithm or variant makes them, though Table 6 may show some."""
    config = WHOLE
    found, families = experiments.named_cells(config), experiments.family_cells(config)
    names = list(dict.fromkeys(cell[2] for cell in found))
    assert {cell[2] for cell in families}.isdisjoint(BY_NAME) and len(families) >= 45
    assert {cell[2] for cell in found} >= {*BY_NAME, *(cell[2] for cell in families)}
    assert {cell[:2] for cell in found if cell[2] in BY_NAME} == {("delta_stepping", "near_far"), ("dijkstra", "scipy")}
    others = [
        *experiments.table_cells(config, *tables.DEFINITIONS),
        *experiments.compared_cells(config),
        *experiments.claimed_cells(config),
    ]
    others += [cell for name, wanted in experiments.targets(config).items() if name not in names for cell in wanted]
    assert not set(found) & set(others)
    for name in names:
        assert experiments.targets(config)[name] == experiments.jobs(config)["sssp", name]


def test_a_family_has_five_sizes_and_a_source_with_an_edge(config):
    sizes = {}
    for name, entry in config["datasets"].items():
        if (kind := generate.kind_of(entry)) and not entry.get("by_name"):
            assert entry["generate"]["seed"] == entry["weights"]["seed"]
            assert name in (f"{kind}{entry['vertices'].bit_length() - 1}", f"{kind}{math.isqrt(entry['vertices'])}")
            sizes.setdefault(kind, []).append(entry["vertices"])
            if entry["arcs"] < 3e6:
                ends = generate.draw_edges(kind, entry["vertices"], entry["arcs"] // 2, entry["generate"]["seed"])
                assert any((end == config["protocol"]["source"]).any() for end in ends), name
    assert list(sizes) == ["grid", "rmat", "uniform"]
    assert all(len(set(found)) == 5 and found == sorted(found) for found in sizes.values())


def test_the_papers_cells(config):
    cpu = [
        cell for cell in experiments.cells_of(config) if cell[1] == "cpu" and not cell[2].startswith(("sample", "rome"))
    ]
    assert cpu == [
        ("bellman_ford", "cpu", "nyc"),
        ("dijkstra", "cpu", "gnutella04"),
        ("floyd_warshall", "cpu", "gnutella04"),
    ]
    cells = [experiments.table_cells(config, table) for table in experiments.PAPER_TABLES]
    sizes = [sum(VARIANTS[f"{cell[0]}/{cell[1]}"].origin == "paper" for cell in of_table) for of_table in cells]
    assert sizes == [1 + 6 * 3 + 3, 2, 1 + 3 * 5 + 5]  # with the CUDA-graph variants that config names


@pytest.mark.parametrize("change", [{"gpu": []}, {"cpu": ["dijkstra"]}, {"simulate": True}])
def test_keys_that_do_not_define_a_datasets_graph(config, change):
    entry = config["datasets"]["gnutella04"]
    assert (
        conditions.identity(entry | change)
        == conditions.identity(dict(reversed(entry.items())))
        == conditions.identity(entry)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"weights": {"min": 1, "max": 100, "seed": 5}},
        {"sources": ["elsewhere.txt.gz"]},
        {"format": "text"},
        {"vertices": 1},
        {"arcs": 1},
        {"directed": False},
        {"sha256": "any"},
        {"substitute": "made up"},
        {"generate": {"seed": 1}},
        {"zero": {"share": 0.5, "seed": 1}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_keys_that_define_a_datasets_graph(config, change):
    entry = config["datasets"]["gnutella04"]
    assert conditions.identity(entry | change) != conditions.identity(entry)


@pytest.mark.parametrize(
    ("mode", "simulated", "gpu", "expected"),
    [
        ("auto", False, True, False),
        ("auto", False, False, True),
        ("auto", True, True, True),
        ("cuda", False, False, False),
        ("cuda", True, True, True),
        ("simulator", False, True, True),
    ],
)
def test_the_mode(config, monkeypatch, mode, simulated, gpu, expected):
    monkeypatch.setattr(conditions.driver, "simulated", lambda: simulated)
    monkeypatch.setattr(conditions.choice, "gpu_usable", lambda: gpu)
    config["mode"] = mode
    assert bool(conditions.why_simulated(config)) is expected


def test_in_the_simulator_blocks_and_tiles_are_its_own(config):
    inside = conditions.protocol_of(config, simulated=True)
    outside = {key: value for key, value in config["protocol"].items() if key not in conditions.OF_BATCHES}
    assert conditions.protocol_of(config) == outside  # of a CPU variant, measured there too
    assert inside == outside | config["simulator"] != outside


def unarchived_min(config, cell):
    """The minutes of a cell that no archive has, given as algorithm/variant/dataset."""
    return allocation.runtime_min(config, ["none"], [experiments.Cell(*cell.split("/"))])


def test_only_what_goes_past_the_paper_is_repeated_more_often_and_for_longer(config):
    common = conditions.protocol_of(config)
    for variant in VARIANTS.values():
        protocol = conditions.protocol_of(config, variant.algorithm, variant.name)
        if variant.ours:
            assert protocol == common | {"repeats": 20, "budget_s": 600}
        else:
            assert protocol == common
    minutes = [unarchived_min(config, f"floyd_warshall/{name}/gnutella04") for name in ("tiled", "blocked")]
    assert minutes[1] - minutes[0] == (600 - 60) / 60
    config["protocol"] |= {"repeats": 30, "budget_s": 700}
    protocol = conditions.protocol_of(config, "floyd_warshall", "blocked")
    assert (protocol["repeats"], protocol["budget_s"]) == (30, 700)
    assert {"floyd_warshall/blocked", "bellman_ford/multi_source_apsp"} <= {
        key for key, variant in VARIANTS.items() if variant.ours
    }


def test_what_is_simulated_without_a_target(config):
    cells = experiments.simulated_cells(config)
    plain = {key for key, variant in VARIANTS.items() if not variant.cuda_graph}
    assert {"/".join(cell[:2]) for cell in cells} <= plain and {cell[2] for cell in cells} == {"sample1", "sample3"}
    assert {key for key in plain if VARIANTS[key].on_gpu} == {
        "/".join(cell[:2]) for cell in cells if cell.registered.on_gpu and cell[2] == "sample1"
    }
    assert experiments.simulated_cells({"datasets": {"nyc": config["datasets"]["nyc"]}}) == []


def test_a_few_cpu_times_do_not_take_the_place_of_the_archive(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cells = [Path(f"results/cells/{key}/nyc.csv") for key in ("dijkstra/scipy", "bellman_ford/naive")]
    for shown, path in zip(([], cells[::-1]), cells, strict=True):
        path.parent.mkdir(parents=True)
        path.touch()
        assert result_paths.measured_here() == shown
    cells[1].unlink()
    job = Path("results/batches/one/sssp/nyc/timings.csv")
    job.parent.mkdir(parents=True)
    job.touch()
    assert result_paths.measured_here() == [job, cells[0]]


def test_cuda_graph_variants_run_on_two_datasets(config):
    assert {cell[2] for cell in experiments.compared_cells(config) if VARIANTS["/".join(cell[:2])].cuda_graph} == {
        "nyc",
        "gnutella04",
    }


def test_time_is_for_the_budget_and_the_run_that_passes_it(config):
    def minutes(key, **changes):
        changed = config | {"protocol": config["protocol"] | changes}
        return unarchived_min(changed, f"{key}/e")

    def more(key, **changes):
        return minutes(key, **changes) - minutes(key)

    budget, timeout = (config["protocol"][name] for name in ("budget_s", "timeout_s"))
    assert more("bellman_ford/naive", budget_s=budget + 6000) == more("bellman_ford/cpu", budget_s=budget + 6000) == 100
    assert more("bellman_ford/cpu", timeout_s=timeout + 6000) == 100 and more("bellman_ford/naive", timeout_s=1) == 0
    n, m = (config["datasets"]["e"][name] for name in ("vertices", "arcs"))
    assert minutes("bellman_ford/naive") == math.ceil((4 * 60 + 600 + budget + 6e-11 * n * (n + m)) / 60)


@pytest.mark.parametrize(
    ("full_check", "checked_rows", "rows"),
    [(10_000, 100, 10_000), (9_999, 100, 100), (9_999, 20_000, 10_000)],
)
def test_memory_is_for_the_rows_that_the_oracle_checks(config, full_check, checked_rows, rows):
    """Of all pairs 16 bytes a distance, and 4 of each that is checked; of one source 64 a vertex and arc, and a row."""
    n = 10_000
    config["datasets"]["town"] = {"vertices": n, "arcs": n}
    config["protocol"] |= {"full_check": full_check, "checked_rows": checked_rows}
    assert allocation.memory_mb(config, "floyd_warshall", "naive", "town") == 2000 + 1600 + math.ceil(
        4 * n * rows / 1e6
    )
    assert allocation.memory_mb(config, "bellman_ford", "naive", "town") == 2000 + 2


def test_limits_follow_the_size(config):
    cells = experiments.cells_of(config)
    limits = {cell: (unarchived_min(config, "/".join(cell)), allocation.memory_mb(config, *cell)) for cell in cells}
    for row in TIMES:
        seconds = 60 * limits[row["algorithm"], row["variant"], row["dataset"]][0]
        run = config["protocol"]["timeout_s"] if row["variant"] == "cpu" else 1.2 * float(row["seconds"])
        assert seconds >= 600 + run, row
    largest = limits["floyd_warshall", "naive", "gnutella30"]
    larger = {"random65536", *BY_NAME}
    assert largest[1] == max(megabytes for cell, (_, megabytes) in limits.items() if cell[2] not in larger)
    assert 16 * 36682**2 / 1e6 < largest[1] < 25_000  # four matrices; what the paper gave
    assert 8 * 65536**2 / 1e6 < limits["floyd_warshall", "staged", "random65536"][1] < 40_000  # the two results
    assert limits["bellman_ford", "naive", "nyc"] < limits["bellman_ford", "naive", "e"]
    assert math.prod(limits["floyd_warshall", "cpu", "sample1"]) < 200_000
