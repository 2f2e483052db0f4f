"""The readers of graph files, their refusals, and the tools that write the text form."""

import bz2
import functools
import gzip
import hashlib
import io as memory_io
import lzma
import pickle
import re
import sys
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from kernels import generate, io, memory
from kernels.errors import InputError
from kernels.graph import MAX_WEIGHT, Graph, forget, kept
from kernels.library import inputs

COUNTS = functools.partial(io.GraphCounts, graph="nyc has", source="config says", advice="state them")

DIMACS = """\
c a comment
p sp 4 5
c graph contains 4 nodes and 5 arcs
c
a 1 2 803
a 2 1 803
a 4 3 2147483646
a 1 2 7
a 3 3 1
"""
DIMACS_ARCS = (4, [0, 1, 3, 0, 2], [1, 0, 2, 1, 2], [803, 803, MAX_WEIGHT, 7, 1])

SNAP = """\
# Directed graph: example.txt
# Nodes: 4 Edges: 3
# FromNodeId\tToNodeId
10\t3
3\t200
11\t10
"""
SNAP_ARCS = (4, [1, 0, 2], [0, 3, 1], None)

TEXT = """\
3 4
0 1 5
2 0 100
0 1 2
1 1 9
"""
TEXT_ARCS = (3, [0, 2, 0, 1], [1, 0, 1, 1], [5, 100, 2, 9])

ARRAY = sparse.coo_array(([4, 2, 1, 3], ([0, 0, 1, 3], [1, 3, 2, 0])), shape=(4, 4))

MARKET = "%%MatrixMarket matrix coordinate {}\n% a comment\n3 3 2\n"


def zipped(content):
    return gzip.compress(content.encode(), mtime=0)


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def put(tmp_path):
    """A function that writes a file and returns its path."""

    def write(content, name="graph.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def lists(arcs):
    vertices, *columns = arcs
    return vertices, *(None if column is None else column.tolist() for column in columns)


def dimacs(line):
    """Return the example with its third arc, line 7, replaced."""
    return DIMACS.replace("a 4 3 2147483646", line)


FORMS = {
    "dimacs": (io.read_dimacs, "p sp 9 {}\n", "a 1 2 3\n", "c more\n"),
    "snap": (io.read_snap, "# Nodes: 2 Edges: {}\n", "1 2\n", "# more\n"),
    "text": (io.read_text, "9 {}\n", "1 2 3\n", "\n"),
}


@pytest.mark.parametrize(
    ("form", "arcs", "content"),
    [
        *(
            ("dimacs", DIMACS_ARCS, content)
            for content in (
                DIMACS,
                DIMACS.replace("\n", "\r\n"),
                DIMACS.rstrip(),
                DIMACS + "\n\n",
                DIMACS.replace(" 803", " 803 \t"),
                DIMACS.replace("a 1 2 7", "c between arcs\n\na 1  2\t7"),
                DIMACS.replace("c a comment\n", ""),
                zipped(DIMACS),
                zipped(DIMACS[:50]) + zipped(DIMACS[50:]),
            )
        ),
        *(
            ("snap", SNAP_ARCS, content)  # whose ids with gaps become dense
            for content in (
                SNAP,
                SNAP.replace("\n", "\r\n"),
                SNAP.replace("\t", "  "),
                SNAP.replace("11\t10", "# between arcs\n11 \t10 \n"),
                SNAP.replace("# Nodes: 4 Edges: 3\n", ""),
                zipped(SNAP),
            )
        ),
        *(
            ("text", TEXT_ARCS, content)
            for content in (TEXT, TEXT.replace("\n", "\r\n"), TEXT.replace(" ", "\t"), TEXT + "\n", zipped(TEXT))
        ),
        ("text", (5, [], [], []), "5 0\n"),
    ],
)
def test_a_file_is_read(put, form, arcs, content):
    assert lists(FORMS[form][0](put(content))) == arcs


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()])
@pytest.mark.parametrize("start", [b"", BOM])
def test_each_compression_is_read_with_and_without_a_byte_order_mark(put, compress, start):
    for form, content, arcs in (
        ("dimacs", DIMACS, DIMACS_ARCS),
        ("snap", SNAP, SNAP_ARCS),
        ("text", TEXT, TEXT_ARCS),
    ):
        assert lists(FORMS[form][0](put(compress(start + content.encode())))) == arcs


@pytest.mark.parametrize("suffix", ["", ".gz", ".BZ2", ".xz", ".XZ"])
def test_suffixes_may_be_in_upper_case(put, tmp_path, suffix):
    compress = COMPRESS.get(suffix.lower(), bytes)
    market = MARKET.format("integer general") + "1 2 5\n3 1 0\n"
    for name, content in (("Some.GR", DIMACS), ("Some.TXT", TEXT), ("Some.MTX", market)):
        graph = io.read_graph(put(compress(content.encode()), name + suffix))
        assert (graph.name, graph.arcs) == ("Some", {DIMACS: 5, TEXT: 4, market: 2}[content])
    with pytest.raises(InputError, match=r"without \.XZ"):
        io.write_text(tmp_path / "out.txt.XZ", 1, *[np.zeros(0, int)] * 3)


@pytest.mark.parametrize("array", [ARRAY, None])
def test_a_packed_file_with_a_suffix_in_upper_case(tmp_path, array):
    path = tmp_path / "some.npz"
    sparse.save_npz(path, array) if array is not None else Graph.from_arcs(4, *[[0] * 4] * 3).save(path)
    assert io.read_graph(path.rename(tmp_path / "Some.NPZ")).arcs == 4


def tar():
    archive = memory_io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as file:
        file.addfile(tarfile.TarInfo("graph.gr"))
    return archive.getvalue()


OTHER_FORMATS = {
    "a zip archive": b"PK\3\4\x14\0",
    "a tar archive": tar(),
    "a binary graph of Galois": bytes([1, *[0] * 7, 8, *[0] * 7, 3]),
    "a binary file": gzip.compress(gzip.compress(b"p sp")),
    "an array of numpy.save": b"\x93NUMPY\1\0",
    "a GraphML file": b"<?xml version='1.0'?>\n<graphml>",
    "a GEXF file": BOM + b"<gexf>",
    "an XML file": b"<osm/>",
    "a text in UTF-16, not in UTF-8": DIMACS.encode("utf-16"),
}


@pytest.mark.parametrize("kind", OTHER_FORMATS)
def test_another_format_is_named(put, kind):
    for name in ("graph.gr", "graph.mtx"):
        with pytest.raises(InputError, match=rf"{name}: .*{kind}: "):
            io.read_graph(put(OTHER_FORMATS[kind], name))


def test_both_passes_read_the_same(put, monkeypatch):
    """100,000 arcs in pieces of 64 KiB; because of a comment the last piece is read line by line."""
    monkeypatch.setattr(io, "READ_BYTES", 1 << 16)
    rng = np.random.default_rng(1)
    arcs = np.column_stack([rng.integers(1, 1001, (100_000, 2)), rng.integers(1, MAX_WEIGHT + 1, 100_000)])
    content = "p sp 1000 100000\n" + "".join(f"a {u} {v} {w}\n" for u, v, w in arcs.tolist())
    for end in ("", "c the end\n"):
        vertices, tails, heads, weights = io.read_dimacs(put(content + end))
        assert vertices == 1000
        np.testing.assert_array_equal(np.column_stack([tails + 1, heads + 1, weights]), arcs)


EXPECTED = "expected 'a TAIL HEAD WEIGHT', three whole numbers"
LINES = {
    **dict.fromkeys(("a 4 3", "a 4 3 1 1", "a 4 3 1.5", "a 4 3 1e3", "a 4 3 nan", 'a 4 3 "1"', "a 4 3 1_0"), EXPECTED),
    **dict.fromkeys(("aa 4 3 1", "e 4 3 1", "4 3 1", "p sp 4 5"), EXPECTED),
    "a 5 3 1": r"tail 5 is outside \[1, 4\]",
    "a 4 0 1": r"head 0 is outside \[1, 4\]",
    **{
        f"a 4 3 {weight}": rf"weight {weight} is outside \[1, 2147483646\]"
        for weight in (0, -1, 2**31 - 1, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 10**300, -(2**63) - 1)
    },
}


@pytest.mark.parametrize("piece", [1, io.READ_BYTES])
@pytest.mark.parametrize("line", LINES)
def test_dimacs_names_a_wrong_line(put, monkeypatch, piece, line):
    monkeypatch.setattr(io, "READ_BYTES", piece)
    shown = f"'{line}'" if len(line) < 60 else ".*"
    with pytest.raises(InputError, match=rf"graph\.txt, line 7: {shown}: {LINES[line]}"):
        io.read_dimacs(put(dimacs(line)))


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"a 4 3 1.5", "'a 4 3 1.5'"),
        (b" a 4 3 1", "' a 4 3 1'"),
        (b"a 4 3 1 x ", "'a 4 3 1 x '"),
        (b"\ta 4 3 1", r"'\ta 4 3 1'"),
        (b"a 4 3 1\0", r"'a 4 3 1\x00'"),
        ("a 4 3 1\u00a0".encode(), r"'a 4 3 1\xc2\xa0'"),
        (b"a 4 3" + b" " * 80 + b"1.5", "'a 4 3" + " " * 35 + "'...'" + " " * 17 + "1.5'"),
        (b"\x01" + b"x" * 1000, rf"'\x01{'x' * 39}'...'{'x' * 20}'"),
    ],
)
def test_a_wrong_line_is_shown_with_its_fault(put, line, shown):
    with pytest.raises(InputError) as error:
        io.read_dimacs(put(DIMACS.encode().replace(b"a 4 3 2147483646", line)))
    assert f"line 7: {shown}: expected 'a TAIL HEAD WEIGHT'" in str(error.value) and str(error.value).isprintable()


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        *(
            ("dimacs", DIMACS.replace("a 1 2 803", line), f"line 5: '{line}': expected 'a TAIL HEAD WEIGHT'")
            for line in ("aa 1 2 803", "1 1 2 803", " 1 2 803", "1a 1 2 803")  # the first arc is looked at too
        ),
        # Two wrong lines that together have the right number of fields.
        ("dimacs", dimacs("a 4 3 1 1").replace("a 3 3 1\n", "a 3 3\n"), "line 7: 'a 4 3 1 1'"),
        ("dimacs", DIMACS.replace("sp 4 5", "sp 4 6"), "5 arcs, its header says 6"),
        ("dimacs", DIMACS.replace("sp 4 5", "sp 4 4"), "5 arcs, its header says 4"),
        ("dimacs", DIMACS.replace("sp 4 5", "sp 0 5"), "line 2: 'p sp 0 5': "),
        ("dimacs", DIMACS.replace("sp 4 5", "sp 4 2147483648"), "line 2: .*: expected 1 to 2147483647 vertices"),
        ("dimacs", DIMACS.replace("p sp 4 5\n", ""), "no header: expected 'p sp VERTICES ARCS' before the arcs"),
        ("dimacs", DIMACS.replace("p sp", "p max"), "line 2: 'p max 4 5': expected 'p sp VERTICES ARCS'"),
        ("dimacs", "c nothing but a comment\n", "no header: expected 'p sp VERTICES ARCS'"),
        ("snap", SNAP.replace("Nodes: 4", "Nodes: 5"), "4 vertices have arcs, its header says 5"),
        ("snap", SNAP.replace("Edges: 3", "Edges: 2"), "3 arcs, its header says 2"),
        ("snap", SNAP.replace("3\t200", "3"), "line 5: '3': expected 'TAIL HEAD', two whole numbers"),
        ("snap", SNAP.replace("3\t200", "3\t200\t1"), r"line 5: '3\\t200\\t1': expected 'TAIL HEAD'"),
        ("snap", SNAP.replace("3\t200", "3\tb"), r"line 5: '3\\tb': expected 'TAIL HEAD'"),
        ("snap", SNAP.replace("3\t200", "-3\t200"), r"line 5: .*: tail -3 is outside \[0, "),
        ("snap", "# nothing but a comment\n", "no arcs in it"),
        ("text", TEXT.replace("2 0 100", "2 0"), "line 3: '2 0': expected 'TAIL HEAD WEIGHT', three whole numbers"),
        ("text", TEXT.replace("2 0 100", "3 0 100"), r"line 3: '3 0 100': tail 3 is outside \[0, 2\]"),
        ("text", TEXT.replace("2 0 100", "2 0 0"), r"line 3: '2 0 0': weight 0 is outside"),
        ("text", TEXT.replace("2 0 100", "2 0 1.0"), "line 3: '2 0 1.0': expected 'TAIL HEAD WEIGHT'"),
        ("text", TEXT.replace("3 4\n", ""), "line 1: '0 1 5': expected 'VERTICES ARCS' in the first line"),
        ("text", TEXT.replace("1 1 9\n", ""), "3 arcs, its header says 4"),
        ("text", "\n", "no header"),
    ],
)
def test_a_wrong_file_is_refused(put, form, content, reason):
    with pytest.raises(InputError, match=reason):
        FORMS[form][0](put(content))


@pytest.mark.parametrize("read", [io.read_dimacs, io.read_snap, io.read_text])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "an empty file"),
        (zipped(""), "an empty file"),
        ("\n <!DOCTYPE html><html>not found</html>", "an HTML page instead of data"),
        (zipped("<html></html>"), "an HTML page instead of data"),
        (zipped(DIMACS)[:-10], "a truncated or corrupted gzip file"),
        (zipped(DIMACS)[:5], "a truncated or corrupted gzip file"),
        (zipped(DIMACS)[:-8] + b"12345678", "a truncated or corrupted gzip file"),
        (zipped(DIMACS)[:20] + b"damage", "a truncated or corrupted gzip file"),
        (zipped(DIMACS) + b"more", "a truncated or corrupted gzip file"),
        (bz2.compress(DIMACS.encode())[:-9], "a truncated or corrupted bzip2 file"),
        (bz2.compress(DIMACS.encode())[:20] + b"damage" * 99, "a truncated or corrupted bzip2 file"),
        (lzma.compress(DIMACS.encode())[:-9], "a truncated or corrupted xz file"),
        (lzma.compress(DIMACS.encode())[:20] + b"damage" * 99, "a truncated or corrupted xz file"),
    ],
    ids=[
        *("empty", "zipped nothing", "page", "zipped page", "short", "stub", "checksum", "damage", "more"),
        *("short bzip2", "damaged bzip2", "short xz", "damaged xz"),
    ],
)
def test_damaged_files(put, read, content, reason):
    with pytest.raises(InputError, match=rf"graph\.gz: {reason}"):
        read(put(content, "graph.gz"))


def test_each_form_is_documented():
    text = (Path(__file__).parents[2] / "docs/data.md").read_text()
    assert [form.title for form in io.FORMATS.values() if form.title not in text] == []


def test_a_python_without_lzma_says_so(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "lzma", None)
    with pytest.raises(InputError, match=r"graph\.xz: .*lzma"):
        io.read_graph(put(lzma.compress(DIMACS.encode()), "graph.xz"))


def short_pieces(monkeypatch, **limits):
    for name, value in {"READ_BYTES": 4096, "SPARE": 4096, "LINE": 1024, **limits}.items():
        monkeypatch.setattr(io, name, value)


def unreadable_after_some(monkeypatch):
    """Fail the test if more than the first pieces of a file are read."""
    whole = io.unpacked

    def some(path):
        for number, part in enumerate(whole(path)):
            assert number < 3, "reads on"
            yield part

    monkeypatch.setattr(io, "unpacked", some)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_reading_stops_at_an_arc_too_many(put, monkeypatch, form, packed):
    short_pieces(monkeypatch)
    read, header, arc, _ = FORMS[form]
    content = header.format(10) + arc * 100_000
    unreadable_after_some(monkeypatch)
    path = put(zipped(content) if packed else content)
    with pytest.raises(InputError, match="11 arcs, its header says 10"):
        read(path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("before", ["nothing", "the header", "the arcs", "an arc's end"])
def test_reading_stops_at_a_byte_too_many(put, monkeypatch, form, before):
    short_pieces(monkeypatch)
    read, header, arc, comment = FORMS[form]
    content = {
        "nothing": comment * 100_000,
        "the header": header.format(10) + comment * 100_000,
        "the arcs": header.format(10) + arc * 10 + comment * 100_000,
        "an arc's end": header.format(10_000) + (arc.strip() + " " * 1000 + "\n") * 10_000,
    }[before]
    unreadable_after_some(monkeypatch)
    path = put(zipped(content))
    with pytest.raises(InputError, match=r"line \d+: '.*: [\d,]+ bytes .* \d+ arcs: .* 4,096 bytes and 64 "):
        read(path)


@pytest.mark.parametrize("packed", [False, True])
def test_the_last_byte_that_a_file_may_have(put, monkeypatch, packed):
    """Whether the arcs before it were read at once or line by line."""
    short_pieces(monkeypatch)
    for arc in ("a 1 2 3\n", "a 1  2 3\n"):
        content = "p sp 2 1000\n" + arc * 1000
        content += "c\n" * ((io.SPARE + io.ARC_BYTES * 1000 - len(content)) // 2)
        assert len(io.read_dimacs(put(zipped(content) if packed else content))[1]) == 1000
        with pytest.raises(InputError, match=r"68,09\d bytes .* 1,000 arcs"):
            io.read_dimacs(put(content + "c\n"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("line", ["c", "0", "0 ", "1\t0", "\0"])
def test_reading_stops_in_a_line_that_does_not_end(put, monkeypatch, form, line):
    short_pieces(monkeypatch, SPARE=1 << 20)
    read, header, arc, _ = FORMS[form]
    content = header.format(500) + arc * 400 + line + line[-1] * 10**6 + arc
    unreadable_after_some(monkeypatch)
    path = put(zipped(content))
    with pytest.raises(InputError, match=r"line 402: .* 1,024 bytes"):
        read(path)


def test_a_line_is_counted_over_pieces(put, monkeypatch):
    """A wrong line far into a file of blank lines, comments, CRLF and arcs without any is named by its number."""
    short_pieces(monkeypatch)
    lines = ["p sp 9 4003", *["a 1 2 3"] * 1000, "", "c", *["a 1 2 3\r"] * 1000, *["a 1  2 3"] * 1000, "", "a 1 2 3"]
    lines += ["a 1 2 3"] * 1000
    for wrong in ("a 1 2", "a 1 2 0"):
        with pytest.raises(InputError, match=f"line {len(lines) + 1}: '{wrong}': "):
            io.read_dimacs(put("\n".join([*lines, wrong, *lines[-2:]])))
    assert len(io.read_dimacs(put("\n".join([*lines, "a 1 2 3", "a 1 2 3"])))[1]) == 4003


@pytest.mark.parametrize("compress", COMPRESS.values())
@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("bomb.gr", b"c a comment as long as others\n", "only 0 arcs: .* 1,048,576 bytes"),
        ("comments.mtx", b"% a comment as long as others\n", "1,048,576 bytes"),
        ("blanks.mtx", b" " * 29 + b"\n", "1,048,704 bytes"),
    ],
)
def test_a_small_file_that_inflates_to_much_is_refused_at_once(put, compress, name, line, reason):
    """Less than a MB becomes 300 MB of comments or blanks."""
    market = (MARKET.format("pattern general") + "1 2\n3 1\n").encode() if name == "blanks.mtx" else b""
    path = put(compress(market) + compress(line * 10**5) * 100, name)
    tracemalloc.start()
    with pytest.raises(InputError, match=f"{name}.*{reason}"):
        io.read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 << 20


@pytest.mark.parametrize(
    ("form", "content"),
    [("text", "2147483647 0\n"), ("dimacs", "p sp 5 2147483647\n"), ("snap", "# Nodes: 5 Edges: 2147483647\n1 2\n")],
)
def test_a_header_that_asks_for_more_memory_than_there_is(put, with_memory, form, content):
    with_memory(16 << 30)
    with pytest.raises(InputError, match=r"graph\.txt: .* has 17,179,869,184"):
        FORMS[form][0](put(content))


def test_arcs_without_counts_are_limited_by_memory(put, with_memory, monkeypatch):
    short_pieces(monkeypatch)
    with_memory(1500 * memory.BYTES_OF_ARC)
    unreadable_after_some(monkeypatch)
    path = put("1 2\n" * 10**5)
    with pytest.raises(InputError, match="150,000"):
        io.read_snap(path)


@pytest.mark.parametrize(
    "make",
    [
        lambda to: generate.random(500, to),
        lambda to: generate.draw_arcs(9, 10**6, 1),
        lambda to: generate.draw_arcs(10**6, 9, 1, 3.0),
        lambda to: Graph.from_arcs(10**6, [0], [1], [2]),
    ],
)
def test_a_graph_larger_than_memory_is_not_begun(tmp_path, with_memory, make):
    with_memory(1 << 20)
    with pytest.raises(InputError, match="1,048,576"):
        make(tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


BARE = "4 3\n" + SNAP.split("\n", 3)[3]  # the counts without a "#"


@pytest.mark.parametrize("expected", [None, COUNTS(4, 3)])
def test_snap_with_its_counts_in_a_bare_first_line(put, expected):
    assert lists(io.read_snap(put(BARE), expected)) == SNAP_ARCS
    assert lists(io.read_snap(put("# no counts\n" + BARE), expected)) == SNAP_ARCS
    assert lists(io.read_snap(put("# Nodes: 4 Edges: 3\n" + BARE), expected)) == SNAP_ARCS


@pytest.mark.parametrize(
    ("content", "vertices", "arcs"),
    [
        ("0 2\n0 1\n1 2\n", 3, 3),  # two lines follow, but of more than no vertices
        ("1 2\n2 3\n3 1\n", 3, 3),  # and of more than one
        ("3 1\n1 2\n3 2\n", 3, 3),  # the head is not how many follow
        ("5 5\n", 1, 1),
        ("# Nodes: 3 Edges: 2\n2 1\n0 1\n", 3, 2),  # the counts are known
    ],
)
def test_a_first_arc_is_not_taken_for_counts(put, content, vertices, arcs):
    found, tails, _, _ = io.read_snap(put(content))
    assert (found, len(tails)) == (vertices, arcs)


def test_known_counts_decide_what_a_first_line_is(put):
    """ "2 1" before "0 1" says how many follow, or is an arc."""
    content = put("2 1\n0 1\n")
    for expected, tails in ((None, [0]), (COUNTS(2, 1), [0]), (COUNTS(3, 2), [2, 0])):
        assert io.read_snap(content, expected)[1].tolist() == tails
    with pytest.raises(InputError, match="at least 3 arcs, config says 2"):
        io.read_snap(put("2 1\n0 1\n1 2\n"), COUNTS(3, 2))


def test_a_first_line_that_may_be_either_is_refused(put):
    with pytest.raises(InputError, match="an arc, or the counts of the 3 "):
        io.read_snap(put(BARE.replace("4 3\n", "9 3\n")))


@pytest.mark.parametrize("form", FORMS)
def test_other_counts_than_expected_are_refused_before_an_arc_is_read(put, form):
    read, header, *_ = FORMS[form]
    with pytest.raises(InputError, match=r"nyc has .*5 arcs, config says 4: state them"):
        read(put(header.format(5) + "this is never read"), COUNTS(9, 4))


def test_write_text_reads_back(tmp_path):
    rng = np.random.default_rng(2)
    arcs = 2 * io.CHUNK + 5
    tails, heads = rng.integers(0, 1000, (2, arcs))
    weights = rng.integers(1, MAX_WEIGHT + 1, arcs)
    path = tmp_path / "new" / "folder" / "graph.txt"
    io.write_text(path, 1000, tails, heads, weights)
    vertices, *columns = io.read_text(path)
    assert vertices == 1000
    np.testing.assert_array_equal(columns, [tails, heads, weights])


@pytest.mark.parametrize("mode", ["w", "wb"])
def test_atomic_leaves_what_was_there_where_writing_fails(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(RuntimeError), io.atomic(path, mode) as file:
        file.write("new" if mode == "w" else b"new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_random_is_complete_without_self_loops(tmp_path):
    generate.random(5, tmp_path / "random.txt", low=3, high=3)
    pairs = [(u, v) for u in range(5) for v in range(5) if u != v]
    assert (tmp_path / "random.txt").read_text() == "5 20\n" + "".join(f"{u} {v} 3\n" for u, v in pairs)
    generate.random(1, tmp_path / "random.txt")
    assert (tmp_path / "random.txt").read_text() == "1 0\n"


@pytest.mark.parametrize(("low", "high"), [(0, 100), (-5, 5), (9, 8), (1, MAX_WEIGHT + 1)])
def test_tools_refuse_a_range_of_weights(put, tmp_path, low, high):
    text, snap, to = put(TEXT), put(SNAP, "snap.txt"), tmp_path / "out.txt"
    for tool, what in ((generate.add, snap), (generate.replace, text), (generate.random, 3)):
        with pytest.raises(InputError, match=f"weights from {low} to {high}: "):
            tool(what, to, low=low, high=high)
    assert not to.exists()


@pytest.mark.parametrize("vertices", [-1, 0, 46342])
def test_random_refuses_a_number_of_vertices(tmp_path, vertices):
    with pytest.raises(InputError, match=f"{vertices} vertices: .* 1 to 46341"):
        generate.random(vertices, tmp_path / "out.txt")
    assert list(tmp_path.iterdir()) == []


def test_random_arcs_are_uniform_and_no_loops():
    tails, heads = generate.draw_arcs(50, 100_000, seed=1)
    assert tails.dtype == heads.dtype == np.int64 and not (tails == heads).any()
    for ends in (tails, heads):
        counts = np.bincount(ends, minlength=50)
        assert len(counts) == 50 and abs(counts - 2000).max() < 6 * np.sqrt(2000)
    pairs = np.unique(50 * tails + heads, return_counts=True)[1]
    assert len(pairs) == 50 * 49 and pairs.max() < 90  # 41 expected


def test_random_arcs_are_the_same_for_a_seed_and_not_the_weights_numbers():
    first, again, other = (generate.draw_arcs(100, 1000, seed, 2.5) for seed in (4, 4, 5))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    tails, _ = generate.draw_arcs(100, 1000, 4)
    assert not np.array_equal(tails, generate.draw(1000, 1, 100, 4) - 1)
    # Known bytes: a version of NumPy that draws other numbers is noticed.
    assert hashlib.sha256(np.stack(generate.draw_arcs(1 << 10, 1 << 13, 1, 3.0)).tobytes()).hexdigest() == KNOWN


KNOWN = "85f0d108f695a62a07a45de779d262ca1aa77d627731e5628da4f90519a08bce"


@pytest.mark.parametrize("skew", [2.5, 3.0, 4.0])
def test_skewed_out_degrees_fall_as_a_power_of_the_rank(skew):
    vertices, arcs = 1 << 14, 1 << 20
    tails, heads = generate.draw_arcs(vertices, arcs, 3, skew)
    degrees = np.sort(np.bincount(tails, minlength=vertices))[::-1]
    ranks = np.arange(10, 1000)
    slope = np.polyfit(np.log(ranks), np.log(degrees[ranks]), 1)[0]
    assert slope == pytest.approx(-1 / (skew - 1), abs=0.03)
    assert np.bincount(heads, minlength=vertices).max() < 2 * arcs / vertices  # heads are uniform
    assert (np.sort(tails[:9]) != np.arange(9)).any()  # nor do the first vertices have the most


@pytest.mark.parametrize(
    ("vertices", "arcs", "skew"), [(1, 1, None), (0, 0, None), (2**31, 1, None), (2, 2**31, None), (9, 9, 2), (9, 9, 0)]
)
def test_random_arcs_that_there_can_not_be_are_refused(vertices, arcs, skew):
    with pytest.raises(InputError, match=f"{arcs} random arcs .* {vertices} vertices, skew {skew}: "):
        generate.draw_arcs(vertices, arcs, 1, skew)


def test_a_tool_that_fails_leaves_its_file(put, tmp_path):
    file = put(TEXT)
    with pytest.raises(InputError, match="line 1"):
        io.parse(file)
    assert file.read_text() == TEXT
    packed = put(zipped(DIMACS), "graph.gr.gz")
    with pytest.raises(InputError, match=r"graph\.gr\.gz: "):
        io.parse(packed)
    assert sorted(tmp_path.iterdir()) == sorted([file, packed])


def test_read_graph(put):
    content = zipped(TEXT)
    graph = io.read_graph(put(content, "some.graph.txt.gz"))
    assert (graph.vertices, graph.arcs, graph.name) == (3, 4, "some.graph")
    assert graph.indices.tolist() == [1, 1, 1, 0] and graph.weights.tolist() == [5, 2, 9, 100]
    assert graph.meta["sha256"] == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("content", [DIMACS, zipped(DIMACS)])
def test_read_graph_of_dimacs(put, content):
    graph = io.read_graph(put(content, "some.graph.gr.gz"))
    vertices, *arcs = io.read_dimacs(put(DIMACS))
    assert (graph.name, graph.vertices) == ("some.graph", vertices)
    expected = Graph.from_arcs(vertices, *arcs)
    for name in ("indptr", "indices", "weights"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(expected, name))


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr"])
def test_read_graph_of_scipys_npz(tmp_path, form, dtype):
    array = ARRAY.astype(dtype).asformat(form)
    if form == "bsr":
        array = ARRAY.astype(dtype).tobsr(blocksize=(2, 2))
    sparse.save_npz(tmp_path / "some.npz", array)
    graph = io.read_graph(tmp_path / "some.npz")
    assert (graph.name, graph.vertices, graph.arcs) == ("some", 4, 4)
    np.testing.assert_array_equal(graph.to_scipy().toarray(), ARRAY.toarray())
    np.testing.assert_array_equal(inputs.as_graph(tmp_path / "some.npz").to_scipy().toarray(), ARRAY.toarray())


@pytest.mark.parametrize(
    ("kind", "entries", "arcs"),
    [
        ("integer general", "1 2 5\n3 1 0\n", [(0, 1, 5), (2, 0, 0)]),
        ("real general", "1 2 5\n3 1 2e3\n", [(0, 1, 5), (2, 0, 2000)]),
        ("integer symmetric", "2 1 5\n3 1 7\n", [(0, 1, 5), (0, 2, 7), (1, 0, 5), (2, 0, 7)]),
        ("pattern general", "1 2\n3 1\n", [(0, 1, 1), (2, 0, 1)]),
        ("integer general", "1 2 5\n1 2 3\n", [(0, 1, 3), (0, 1, 5)]),
    ],
)
def test_read_graph_of_matrix_market(put, kind, entries, arcs):
    content = MARKET.format(kind) + entries
    for path in (put(content, "some.mtx"), put(zipped(content), "some.mtx.gz")):
        graph = io.read_graph(path)
        found = zip(graph.tails.tolist(), graph.indices.tolist(), graph.weights.tolist(), strict=True)
        assert (graph.name, graph.vertices, sorted(found)) == ("some", 3, arcs)


@pytest.mark.parametrize(
    ("field", "entry", "value"),
    [
        *(("real", f"1 2 {value}", 150) for value in ("1.5D+02", "1.5d2", "1.5e2", "150.", "15E1")),
        ("double", "1 2 .5d0", 0.5),
        ("real", "1\t2  -2 \r", -2),
        ("integer", "1 2 -2", -2),
        ("pattern", " 1 2 ", 1),
    ],
)
def test_a_number_of_matrix_market(put, field, entry, value):
    content = f"%%MatrixMarket matrix coordinate {field} general\n3 3 1\n\n{entry}"
    for end in ("", "\n", "\n\n"):
        assert io.read_array(put(content + end, "some.mtx")).data.tolist() == [value]


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
@pytest.mark.parametrize(
    ("field", "entries"),
    [
        ("real", ["1 2 1,5", "1 2 1_000", "1 2 5km", "1 2 0x10", "1 2 1.5+02", "1 2 1D", "1 2 5 7", "1 2", "1 2.5"]),
        (
            "real",
            [
                "1 2 +5",
                "% 1 2 5",
                "1.5 2 5",
                "1 2 1.5.2",
                "1 2 .",
                "1 2. 5",
                "1 2 \u0663",
                "1 2 5" + " " * (1 << 17) + "km",
            ],
        ),
        ("integer", ["1 2 1e3", "1 2 5.7", "1 2 5.0", "1 2 1_000", "1 2 5 7", "1-2 5"]),
        ("pattern", ["1 2 5", "1"]),
    ],
)
def test_a_wrong_entry_of_matrix_market_is_named_by_its_line(put, suffix, field, entries):
    right = {"real": "1 2 5.5", "integer": "1 2 5", "pattern": "1 2"}[field]
    for wrong in entries:
        content = f"%%MatrixMarket matrix coordinate {field} general\n% c\n3 3 4\n{right}\n\n{wrong}\n{right}\n"
        path = put(COMPRESS.get(suffix, bytes)(content.encode()), f"some.mtx{suffix}")
        with pytest.raises(InputError, match=rf"some\.mtx{suffix}, line 6: '{re.escape(wrong[:8])}?.*: expected 'ROW"):
            io.read_graph(path)


def test_a_wrong_entry_far_into_a_file_of_matrix_market(put, monkeypatch):
    short_pieces(monkeypatch, SPARE=1 << 20)
    entries = ["1 2 1.25", "3 1 2.5D0", ""] * 2000
    content = "%%MatrixMarket matrix coordinate real general\n3 3 4000\n" + "\n".join(entries)
    assert io.read_array(put(content, "some.mtx")).data.tolist() == [1.25, 2.5] * 2000
    with pytest.raises(InputError, match=r"line 6003: '1 2 5km': expected"):
        io.read_array(put(content + "\n1 2 5km\n" + content, "some.mtx"))
    with pytest.raises(InputError, match=r"line 6003: ' *'\.\.\.' *': .* 1,024 bytes"):
        io.read_array(put(content + "\n" + " " * 100_000 + "km\n", "some.mtx"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "an empty file"),
        ("1 2 5\n", r".*Line 1: "),
        (MARKET.format("real general") + "1 2 5\n", ".*Truncated file"),
        (MARKET.format("real general") + "1 2 5\n1 4 5\n", ".*Line 5: "),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n", ".*all entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 5\n", r".*\(2, 3\): "),
        (MARKET.format("complex general") + "1 2 5 1\n1 3 5 1\n", ".*complex128: "),
        (MARKET.format("real general") + "1 2 0.5\n1 3 5\n", r"weight 0\.5: "),
        (MARKET.format("integer general") + "1 2 -1\n1 3 5\n", "weight -1: "),
        (MARKET.format("integer general") + f"1 2 {MAX_WEIGHT + 1}\n1 3 5\n", "weight 2147483647: "),
    ],
)
def test_an_array_that_is_no_graph(put, content, said):
    path = put(content, "some.mtx")
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}: {said}"):
        io.read_graph(path)


def test_an_array_that_cannot_be_read(put, tmp_path):
    with pytest.raises(InputError, match=r"none\.mtx: .*No such file"):
        io.read_graph(tmp_path / "none.mtx")
    with pytest.raises(InputError, match=r"text\.txt: .*Matrix Market.*\.mtx"):
        io.read_graph(put(MARKET, "text.txt"))


def test_a_damaged_array_of_scipy_is_refused_or_unchanged(tmp_path):
    path = tmp_path / "some.npz"
    sparse.save_npz(path, ARRAY.tocsr())
    whole, refused = path.read_bytes(), 0
    for at in range(0, len(whole), 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            np.testing.assert_array_equal(io.read_graph(path).to_scipy().toarray(), ARRAY.toarray())
        except InputError as error:
            refused += 1
            assert str(error).startswith(f"{path}: ")
    assert refused > 100


def test_an_array_of_scipy_with_an_index_out_of_range(tmp_path):
    array = ARRAY.tocsr()
    array.indices[2] = 4
    sparse.save_npz(tmp_path / "some.npz", array)
    with pytest.raises(InputError, match=r"some\.npz: .*indices"):
        io.read_graph(tmp_path / "some.npz")


@pytest.mark.parametrize("name", ["some.mtx", "some.npz"])
def test_an_array_that_does_not_fit_in_memory(put, tmp_path, with_memory, name):
    put(MARKET.format("integer general") + "1 2 5\n3 1 0\n", "some.mtx")
    sparse.save_npz(tmp_path / "some.npz", ARRAY)
    with_memory(100)
    with pytest.raises(InputError, match=rf"{name}: .* has 100: "):
        io.read_graph(tmp_path / name)


def test_read_packed_graph(tmp_path):
    for meta, expected in (({"name": "nyc", "sha256": "abc"}, ("nyc", "abc")), ({}, ("packed", None))):
        Graph.from_arcs(2, [0], [1], [5], meta=meta).save(tmp_path / "packed.npz")
        graph = io.read_graph(tmp_path / "packed.npz")
        assert (graph.name, graph.meta.get("sha256")) == expected
        assert graph.weights.tolist() == [5]


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (SNAP, r"this is a SNAP file: python -m kernels add \S+graph\.txt --to OUT"),
        ("", "an empty file"),
    ],
)
def test_read_graph_says_what_to_do_with_other_forms(put, content, hint):
    with pytest.raises(InputError, match=hint):
        io.read_graph(put(content))


@pytest.mark.parametrize("name", ["null", "null.npz"])
def test_a_pipe_or_a_device_is_no_graph(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/null")
    with pytest.raises(InputError, match=rf"{name}: not a regular file"):
        io.read_graph(tmp_path / name)


def test_a_graph_keeps_its_layouts_and_sends_none_of_them():
    made = []

    @kept
    def layout(graph):
        made.append(graph)
        return graph.arcs

    one, other = (Graph.from_arcs(3, [0, 1], [1, 2], [1, weight]) for weight in (1, 2))
    assert [layout(graph) for graph in (one, other, one, other)] == [2] * 4 and made == [one, other]
    copy = pickle.loads(pickle.dumps(one))
    assert copy.weights.tolist() == [1, 1] and vars(copy).keys() < vars(one).keys()
    forget(one)
    assert vars(one).keys() == vars(copy).keys()
    assert layout(one) == 2 and made == [one, other, one]


@pytest.mark.parametrize("name", ["a.txt", "a.gr", "a.mtx"])
def test_a_file_of_a_byte_order_mark_alone_is_empty(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(InputError, match=f"{name}: an empty file"):
        io.read_graph(tmp_path / name)
