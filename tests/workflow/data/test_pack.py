import csv
from pathlib import Path

import numpy as np
import yaml

from kernels.graph import Graph
from workflow.data import pack

ROOT = Path(__file__).parents[3]


def test_a_generated_graph_is_the_one_of_the_archived_times(tmp_path):
    entry = yaml.safe_load((ROOT / "config.yaml").read_text())["datasets"]["grid250"]
    pack.pack("grid250", entry, None, tmp_path / "graph.npz")
    tables = ROOT.glob("results/archive/h200/batches/*/sssp/grid250/timings.csv")
    archived = {row["dataset_sha256"] for path in tables for row in csv.DictReader(path.open())}
    assert {Graph.load(tmp_path / "graph.npz").meta["sha256"]} == archived


def test_the_digest_is_that_of_the_arrays_and_of_each_of_them():
    arrays = [0, 1, 2, 2], [1, 2], [5, 7]
    others = ([0, 2, 2, 2], [1, 2], [5, 7]), ([0, 1, 2, 2], [1, 0], [5, 7]), ([0, 1, 2, 2], [1, 2], [5, 8])
    first, same, *changed = (
        pack.csr_sha256(Graph(*(np.array(column, np.int32) for column in columns)))
        for columns in (arrays, arrays, *others)
    )
    assert first == same and len({first, *changed}) == 4
