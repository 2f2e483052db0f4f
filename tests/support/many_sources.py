"""Rows of searches from many sources, as they are written."""

from tests.support.rows import SIZES


def row(kind="rows", repeat=1, dataset="nyc", **changes):
    of_kind = {"rows": {"sources": 50_000, "search_s": 0.05}, "reduced": {"sources": 264_346, "search_s": 0.264346}}
    size = SIZES.loc[dataset]
    values = {
        **{"kind": kind, "dataset": dataset, "repeat": repeat, **of_kind[kind], "customize_s": 0.002 * repeat},
        **{"order_s": 1.0, "tree_s": 0.25, "layout_s": 0.125},
        **{"height": 269, "hierarchy_arcs": 10**6, "triangles": 10**7},
        **{"vertices": size.vertices, "arcs": size.arcs, "rows_checked": 256, "device": "test card", "driver": "580.1"},
        **{"card_uuid": "GPU-1", "host_id": "0123abcd", "host": "test_host", "numba_cuda": "0.30.4", "revision": "1"},
        **{"commit": "abc", "tree_clean": True, "dataset_sha256": "ab" * 32, "substitute": ""},
        **{"started": "2026-01-01T00:00:00+00:00"},
    }
    return values | changes
