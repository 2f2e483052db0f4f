"""Packed graphs and prepared hierarchies: damaged files, wrong values and files that take too much memory."""

import dataclasses
import io
import struct
import zipfile

import numpy as np
import pytest

from kernels.errors import InputError
from kernels.fast.hierarchy import elimination
from kernels.graph import Graph
from tests.support import graphs

ON = graphs.grid(12)
PREPARED = elimination.prepare_hierarchy(ON)
ADVICE = {"graph": "name a packed graph, or make this one again", "hierarchy": "delete it and run again"}


def graph_file() -> bytes:
    file = io.BytesIO()
    ON.write(file)
    return file.getvalue()


def hierarchy_file(**changes) -> bytes:
    file = io.BytesIO()
    dataclasses.replace(PREPARED, **changes).write(file, elimination.topology(ON))
    return file.getvalue()


WHOLE = {"graph": graph_file(), "hierarchy": hierarchy_file()}
ARRAYS = {"graph": ("indptr", "indices", "weights"), "hierarchy": ("vertices", "start", "heads", "ends", "depths")}


@pytest.fixture(params=WHOLE)
def kind(request):
    return request.param


def values(of: Graph | elimination.Hierarchy) -> list:
    return [getattr(of, field.name) for field in dataclasses.fields(of) if field.name != "file"]


EXPECTED = {"graph": values(ON), "hierarchy": values(PREPARED)}


def load(kind: str, path) -> list:
    return values(Graph.load(path) if kind == "graph" else elimination.Hierarchy.load(path, ON))


@pytest.fixture
def said(tmp_path):
    """A function that loads bytes and returns the message of the refusal, one line; empty if they are as written."""
    path = tmp_path / "damaged.npz"

    def said(kind: str, damaged: bytes) -> str:
        path.write_bytes(damaged)
        try:
            assert all(map(np.array_equal, load(kind, path), EXPECTED[kind]))
        except InputError as error:
            message = str(error)
            assert message.startswith(f"{path}: not a p") and message.endswith(f": {ADVICE[kind]}")
            assert "\n" not in message and len(message) < len(str(path)) + 400
            return message
        return ""

    return said


@pytest.fixture
def refused(said):
    """The same for bytes that must be refused."""
    return lambda kind, damaged: said(kind, damaged) or pytest.fail("read")


def members(whole: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(whole)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def npy(value) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(value))
    return file.getvalue()


def with_array(kind: str, name: str, value) -> bytes:
    return zipped(members(WHOLE[kind]) | {f"{name}.npy": npy(value)})


def with_fields(whole: bytes, offset: int, number: int) -> bytes:
    """Change a number in all headers of members: the flags (offset 6) or the method (8)."""
    changed = bytearray(whole)
    for mark, after in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = whole.find(mark)
        while at >= 0:
            struct.pack_into("<H", changed, at + offset + after, number)
            at = whole.find(mark, at + 1)
    return bytes(changed)


def with_header(kind: str, header: str) -> bytes:
    """Replace the header of the second array."""
    name, text = f"{ARRAYS[kind][1]}.npy", header.encode()
    described = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text
    return zipped(members(WHOLE[kind]) | {name: described + bytes(400)})


def test_each_byte_changed(kind, said):
    packed = zipped(members(WHOLE[kind]), zipfile.ZIP_DEFLATED)
    assert not said(kind, packed)
    for place in range(len(packed)):
        said(kind, packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :])


def test_truncated(kind, refused):
    for length in range(0, len(WHOLE[kind]), 11):
        refused(kind, WHOLE[kind][:length])


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_if_it_is_compressed(kind, method, said, refused):
    packed = zipped(members(WHOLE[kind]), method)
    assert not said(kind, packed)
    place = packed.index(b"PK\x01\x02") // 2
    refused(kind, packed[:place] + bytes(byte ^ 0xFF for byte in packed[place : place + 20]) + packed[place + 20 :])


@pytest.mark.parametrize(
    ("offset", "number", "reason"),
    [(6, 1, "is encrypted"), (8, 99, "compression method"), (8, 14, ""), (8, 12, ""), (8, 8, "")],
)
def test_encrypted_or_of_another_method(kind, offset, number, reason, refused):
    assert reason in refused(kind, with_fields(WHOLE[kind], offset, number))


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (7,), }" + " " * 60_000,  # NumPy advises allow_pickle
        "{'descr': '<i4', 'fortran_order': False, 'shape': (7,",  # tokenize.TokenError
        "{'descr': '<i4', 'fortran_order': False, 'shape': 7}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-7,)}",
        f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({2**45},)}}",
        f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({2**70},)}}",
        f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({2**32}, {2**32})}}",
        "{'descr': 'what', 'fortran_order': False, 'shape': (7,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (7,)}",
        "(" * 300,
        "",
    ],
)
def test_a_wrong_header(kind, header, refused):
    assert "fully trust" not in refused(kind, with_header(kind, header))


def test_objects_are_not_loaded(kind, refused):
    assert "Object arrays" in refused(kind, with_array(kind, ARRAYS[kind][0], [None]))


def test_no_zip_or_none_of_ours(kind, refused):
    for whole in (b"", b"PK", npy(1), npy(1) + WHOLE[kind][: -len(npy(1))], zipped({}), zipped({"a": b"b"})):
        refused(kind, whole)


def test_an_array_longer_than_its_header_says(kind, refused):
    name = f"{ARRAYS[kind][0]}.npy"
    longer = members(WHOLE[kind])[name] + bytes(4)
    assert "longer than its header" in refused(kind, zipped(members(WHOLE[kind]) | {name: longer}))


def test_each_array_missing_or_of_another_type_or_shape(kind, refused):
    for name in members(WHOLE[kind]):
        rest = {other: content for other, content in members(WHOLE[kind]).items() if other != name}
        refused(kind, zipped(rest))
    for name in ARRAYS[kind]:
        array = np.load(io.BytesIO(members(WHOLE[kind])[f"{name}.npy"]))
        for dtype in (np.float64, np.int16, np.uint32, array.dtype.newbyteorder(), object, "U9", "M8[s]"):
            refused(kind, with_array(kind, name, array.astype(dtype)))
        for other in (array[:-1], np.append(array, array.dtype.type(9**6)), array[None], array[0], array[:0]):
            refused(kind, with_array(kind, name, other))


FACTS = {
    "graph": {"directed": ([True, False], "no", 1.0), "meta": ("", "5", "[" * 10**5, '{"name": 5}', ["{}"], b"{}")},
    "hierarchy": {
        **{"format": (2, "x", [1, 1], {}), "digest": ("", 5, ["x"])},
        **dict.fromkeys(("order_s", "tree_s"), (np.nan, np.inf, -1.0, "x", [1.0, 1.0])),
    },
}


def test_wrong_facts(kind, refused):
    for name, values in FACTS[kind].items():
        for value in values:
            refused(kind, with_array(kind, name, value))


def changed(name: str, place: int, value) -> dict[str, np.ndarray]:
    array = getattr(PREPARED, name).copy()
    array[place] = value
    return {name: array}


def test_each_wrong_value_of_a_hierarchy(refused):
    for name in (*ARRAYS["hierarchy"], "places"):
        array = getattr(PREPARED, name)
        for place, was in enumerate(array.tolist()):
            for value in {was - 1, was + 1, -1, 10**6, 2**31 - 1, -(2**31), len(array)} - {was}:
                refused("hierarchy", hierarchy_file(**changed(name, place, value)))


def without(arc: int) -> dict[str, np.ndarray]:
    """Return the arrays of the hierarchy without one of its arcs."""
    start, places = PREPARED.start.copy(), PREPARED.places.copy()
    start[start > arc] -= 1
    places[places >> 1 > arc] -= 2
    return {"start": start, "heads": np.delete(PREPARED.heads, arc), "places": places}


def test_each_arc_of_a_hierarchy_is_needed(refused):
    for arc in range(len(PREPARED.heads)):
        refused("hierarchy", hierarchy_file(**without(arc)))


def test_a_hierarchy_whose_subtrees_are_no_ranges():
    """Parents have lower numbers, and depths and sizes are right."""
    on = Graph.from_arcs(5, [0, 1, 0, 3], [1, 2, 3, 4], [1] * 4)
    tree = elimination.Hierarchy(
        *(np.int32([0, 1, 3, 2, 4]), np.int64([0, 0, 1, 2, 3, 4]), np.int32([0, 0, 1, 2])),
        *(np.int32([5, 3, 4, 4, 5]), np.int32([0, 1, 1, 2, 2]), np.int64([0, 2, 4, 6]), 0.0, 0.0),
    )
    places = elimination.find_arcs(on.tails, on.indices, tree.vertices, tree.start, tree.heads)
    with pytest.raises(InputError, match=r"of number [0-4] is wrong"):
        dataclasses.replace(tree, places=places).check(on)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"start": [0, 0, 1, 0, 3]}, "start falls"),
        ({"start": [0, 0, 2, 2, 3]}, "start falls"),  # 1 has more heads than ancestors
        ({"start": [1, 1, 2, 3, 4], "heads": [0, 0, 1, 2], "places": [3, 5, 7]}, "start falls"),
        ({"start": [0, 0, 1, 2, 5], "heads": [0, 1, 2, 1, 1]}, "of number 3 is wrong"),  # twice the same
        ({"start": [0, 0, 1, 2, 4], "heads": [0, 1, 2, 0]}, "of number 3 is wrong"),  # 2 has no arc with 0
        ({"start": [0, 0, 0, 1, 2], "heads": [1, 2], "ends": [1, 4, 4, 4]}, "of number 1 is wrong"),  # depth of a root
    ],
)
def test_a_wrong_chain(changes, reason):
    on = Graph.from_arcs(4, [0, 1, 2], [1, 2, 3], [1] * 3)
    chain = {"start": [0, 0, 1, 2, 3], "heads": [0, 1, 2], "ends": [4] * 4, "places": [1, 3, 5]}

    def tree(values):
        start, heads, ends, places = map(np.array, values.values())
        numbers = np.arange(4, dtype=np.int32)
        return elimination.Hierarchy(numbers, start, np.int32(heads), np.int32(ends), numbers, places, 0.0, 0.0)

    tree(chain).check(on)
    with pytest.raises(InputError, match=reason):
        tree(chain | changes).check(on)


@pytest.mark.parametrize(("limit", "reason"), [("MAX_HEIGHT", "vertices high"), ("MAX_ARCS", "elimination leaves")])
def test_a_hierarchy_that_the_kernels_do_not_take(limit, reason, refused, monkeypatch):
    monkeypatch.setattr(elimination, limit, 0)
    assert reason in refused("hierarchy", WHOLE["hierarchy"])


def test_a_hierarchy_of_more_bytes_than_its_graph_can_have(refused):
    large = zipped(members(WHOLE["hierarchy"]) | {"heads.npy": npy(np.zeros(10**6, np.int32))}, zipfile.ZIP_DEFLATED)
    assert len(large) < 10**4
    assert "bytes, at most" in refused("hierarchy", large)


def test_more_bytes_than_there_is_memory(kind, tmp_path, with_memory):
    (tmp_path / "large.npz").write_bytes(zipped(members(WHOLE[kind]) | {"a": bytes(10**4)}, zipfile.ZIP_DEFLATED))
    with_memory(10**4)
    with pytest.raises(InputError, match=r"large\.npz: .* 1\d,\d+ bytes "):
        load(kind, tmp_path / "large.npz")
