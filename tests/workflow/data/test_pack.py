import hashlib

import numpy as np
import pytest

from kernels import io
from workflow.data import pack


@pytest.mark.parametrize("arcs", [0, 1, 6, 7, 50])
def test_digest_of_the_text_form(tmp_path, monkeypatch, arcs):
    monkeypatch.setattr(pack, "CHUNK", 3)
    monkeypatch.setattr(pack, "CHUNKS", 2)
    rng = np.random.default_rng(arcs)
    tails, heads = rng.integers(1000, size=(2, arcs), dtype=np.int32)
    weights = rng.integers(2**31 - 1, size=arcs)
    io.write_text(tmp_path / "graph.txt", 1000, tails, heads, weights)
    written = hashlib.sha256((tmp_path / "graph.txt").read_bytes()).hexdigest()
    assert pack.text_sha256(1000, tails, heads, weights) == written
