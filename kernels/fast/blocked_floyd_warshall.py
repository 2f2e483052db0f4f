"""Blocked Floyd-Warshall with register tiles: the distances first, the predecessors from them.

The matrix is cut into tiles. A round takes the next `tile` vertices K between others (Venkataraman,
Sahni and Mukhopadhyaya, 2003; Katz and Kider, 2008), where (x) is the product of (min, +):

    close     D = M[K, K] by Floyd-Warshall
    across    M[K, :] = D (x) M[K, :]                the rows of K
    rest      M = min(M, M[:, K] (x) M[K, :])        all rows

`rest` reads M[:, K] while another block lowers it, and `across` M[K, :]. Either value gives the same
result: the new one is itself min over K of old + M[K, K], or of M[K, K] + old, and M[K, K] is closed,
so nothing becomes less through it.

A block makes half a tile of the product, a thread 8 x 8 words of it in registers, one VIADDMNMX each
for every k. What finds indexes takes turns with it on the same unit of the card: hence four words are
loaded at once, and four k follow each other without a look at a counter. Infinity is 2^31 - 1 in
unsigned words: the sum of two never wraps and never undercuts it. Packed, a word holds the distances
to two vertices next to each other, and infinity is 2^15 - 1: the halves never carry into each other.
Rows and columns past the last vertex are infinite.

Packed distances are right or seen to be wrong. Where a distance does not fit in 15 bits, take the
first vertex v on that shortest path for which it does not: the vertex u before it has its true
distance, since what fits is never rounded, and v is at infinity. An arc from a reached vertex to an
unreached one is thus what the predecessors' pass looks for, which looks at every arc anyway.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np
from numba import cuda, int32, uint32

from kernels.gpu.card import SIMULATED, gpu_visible, has_pairs
from kernels.gpu.copies import Copies
from kernels.gpu.intrinsics import add_min, add_min_pairs, load_four, store_four
from kernels.gpu.launching import STEP, blocks_for
from kernels.graph import INF, Graph
from kernels.run import Result, Run


DEPTH = 16  # vertices k whose distances lie in shared memory at a time
PAD = 4  # words after each row of to_k: a warp writes to several at a time, which else lie in the same banks
PACKED_INF = 2**15 - 1
RESIDENT = 4  # blocks of the product that a multiprocessor has registers for
LINES = 256  # threads a block, at most, of the kernels that have a block a row


@dataclass(frozen=True)
class Form:
    """side: threads along a tile's side. per: words along a thread's side. packed: two distances a word."""

    side: int
    per: int
    packed: bool

    @classmethod
    def of(cls, run: Run, packed: bool) -> "Form":
        """Tiles of 128 x 128 words; of 4 x 4 where run.tile is less than 32, for the simulator."""
        return cls(16, 8, packed) if run.tile >= 32 else cls(2, 2, packed)

    @property
    def tile(self) -> int:
        """Rows and words of a tile, and vertices of a round."""
        return self.side * self.per

    @property
    def height(self) -> int:
        """Rows of the tile's upper or lower half, which a block makes."""
        return self.side // 2 * self.per

    @property
    def threads(self) -> int:
        return self.side * self.height // self.per

    @property
    def close_per(self) -> int:
        """Distances along the side of what one thread of `close` has, fewer, so that its loop is unrolled."""
        return max(2, self.per // 2)

    @property
    def close_side(self) -> int:
        return self.tile // self.close_per

    @property
    def per_word(self) -> int:
        return 2 if self.packed else 1

    @property
    def inf(self) -> int:
        """A word of infinities."""
        return PACKED_INF * 0x10001 if self.packed else INF

    def rounds(self, vertices: int) -> int:
        return blocks_for(vertices, self.tile)

    def blocks(self, tiles: int) -> int:
        """Blocks of the product for so many tiles below each other."""
        return tiles * self.tile // self.height

    def columns(self, vertices: int) -> int:
        """Tiles along a row."""
        return blocks_for(vertices, self.tile * self.per_word)

    def words(self, vertices: int) -> int:
        """Words of a row: whole tiles."""
        return self.columns(vertices) * self.tile


@cache
def kernels(form: Form) -> SimpleNamespace:
    """The kernels for one form. Matrices are flat, `words` words a row.

    `panel` holds the rows of a round's vertices from row step * tile on, and they are vertices
    (first + step) * tile and following of the graph; `target` holds whole tiles of any rows.
    """
    side, per, tile, per_word, packed, inf = form.side, form.per, form.tile, form.per_word, form.packed, form.inf
    own, close_side = form.close_per, form.close_side
    height, threads = form.height, form.threads
    close_bounds = {} if SIMULATED else {"launch_bounds": close_side**2}  # else it may not launch for its registers
    bounds = {} if SIMULATED else {"launch_bounds": (threads, RESIDENT)}
    wide, depth = per // 2, min(DEPTH, tile)  # words next to each other that a thread takes at a time
    to_k_words, padded = depth // per_word, height + PAD
    relax = add_min_pairs if packed else add_min

    @cuda.jit(device=True)
    def word_of(distance, v):
        """The word that holds this distance to v, and besides it infinity."""
        if packed:
            distance = min(distance, PACKED_INF)
            return U(distance << 16 | PACKED_INF) if v % 2 else U(PACKED_INF << 16 | distance)
        return U(distance)

    @cuda.jit(device=True)
    def distance_in(word, v):
        if packed:
            distance = U(word >> 16) if v % 2 else U(word & 0xFFFF)
            return U(INF) if distance == PACKED_INF else distance
        return word

    @cuda.jit(device=True)
    def lower(matrix, at, word):
        old = matrix[at]
        seen = U(~old)
        while seen != old:
            seen = old
            old = cuda.atomic.cas(matrix, at, seen, relax(U(0), word, seen))

    @cuda.jit
    def initial(n, words, first, indptr, indices, weights, matrix):
        """A block a row: the arcs that leave vertex first + row, 0 to itself, else infinity."""
        row, t, stride = np.uint64(cuda.blockIdx.x) * words, U(cuda.threadIdx.x), U(cuda.blockDim.x)
        at = t
        while at < words:
            matrix[row + at] = U(inf)
            at = U(at + stride)
        cuda.syncthreads()
        u = U(first + cuda.blockIdx.x)
        if u < n:
            if t == 0:
                lower(matrix, row + U(u // per_word), word_of(0, u))
            arc, end = U(indptr[u] + t), U(indptr[U(u + 1)])
            while arc < end:
                v = U(indices[arc])
                lower(matrix, row + U(v // per_word), word_of(weights[arc], v))
                arc = U(arc + stride)

    @cuda.jit(**close_bounds)
    def close(words, first, step, panel):
        """One block, a thread own x own distances, 32 bits each: packed ones are taken apart."""
        to_k = cuda.shared.array((2, tile), uint32)
        from_k = cuda.shared.array((2, tile), uint32)
        dist = cuda.local.array((own, own), uint32)
        y, x = U(cuda.threadIdx.x // close_side), U(cuda.threadIdx.x % close_side)
        corner = np.uint64(step * tile + y * own) * words + U(((first + step) * tile + x * own) // per_word)
        r = U(0)
        while r < own:
            c = U(0)
            while c < own // per_word:
                word = panel[corner + np.uint64(r) * words + c]
                if packed:
                    dist[r, U(2 * c)], dist[r, U(2 * c + 1)] = U(word & 0xFFFF), U(word >> 16)
                else:
                    dist[r, c] = word
                c = U(c + 1)
            r = U(r + 1)
        owner = U(0)
        while owner < close_side:
            k = U(0)
            while k < own:  # two lines in turn: one barrier is enough
                if y == owner:
                    c = U(0)
                    while c < own:
                        from_k[U(k % 2), U(x * own + c)] = dist[k, c]
                        c = U(c + 1)
                if x == owner:
                    r = U(0)
                    while r < own:
                        to_k[U(k % 2), U(y * own + r)] = dist[r, k]
                        r = U(r + 1)
                cuda.syncthreads()
                r = U(0)
                while r < own:
                    c = U(0)
                    while c < own:
                        left, right = to_k[U(k % 2), U(y * own + r)], from_k[U(k % 2), U(x * own + c)]
                        dist[r, c] = add_min(left, right, dist[r, c])
                        c = U(c + 1)
                    r = U(r + 1)
                k = U(k + 1)
            owner = U(owner + 1)
        r = U(0)
        while r < own:
            c = U(0)
            while c < own // per_word:
                word = U(dist[r, U(2 * c + 1)] << 16 | dist[r, U(2 * c)]) if packed else dist[r, c]
                panel[corner + np.uint64(r) * words + c] = word
                c = U(c + 1)
            r = U(r + 1)

    @cuda.jit(device=True)
    def load(matrix, at, part):
        if wide == 4 and not SIMULATED:
            part[0], part[1], part[2], part[3] = load_four(matrix, at)
        else:
            i = U(0)
            while i < wide:
                part[i] = matrix[at + i]
                i = U(i + 1)

    @cuda.jit(device=True)
    def store(matrix, at, part):
        if wide == 4 and not SIMULATED:
            store_four(matrix, at, (part[0], part[1], part[2], part[3]))
        else:
            i = U(0)
            while i < wide:
                matrix[at + i] = part[i]
                i = U(i + 1)

    @cuda.jit(device=True)
    def place(thread, i, length):
        """Where a thread's row or column i lies among `length` of them.

        Half of them in either half of the tile, so that 16-byte loads next to each other meet no bank twice.
        """
        return U((i // wide) * (length // 2) + thread * wide + i % wide)

    @cuda.jit(device=True)
    def through(k, y, x, to_k, from_k, dist):
        left = cuda.local.array(per, uint32)
        right = cuda.local.array(per, uint32)
        i = U(0)
        while i < per:
            left[i], right[i] = to_k[k, place(y, i, height)], from_k[k, place(x, i, tile)]
            i = U(i + 1)
        r = U(0)
        while r < per:
            c = U(0)
            while c < per:
                dist[r, c] = relax(left[r], right[c], dist[r, c])
                c = U(c + 1)
            r = U(r + 1)

    @cuda.jit(device=True)
    def multiply(words, top, k_column, k_row, panel, target):
        """The rows of target from `top` on, columns by block, through the k of one round."""
        to_k = cuda.shared.array((depth, padded), uint32)
        from_k = cuda.shared.array((depth, tile), uint32)
        dist = cuda.local.array((per, per), uint32)
        part = cuda.local.array(wide, uint32)
        t, j0 = U(cuda.threadIdx.x), U(cuda.blockIdx.x * tile)
        y, x = U(t // side), U(t % side)
        r = U(0)
        while r < per:
            c = U(0)
            while c < per:
                dist[r, c] = U(inf)
                c = U(c + 1)
            r = U(r + 1)
        columns, rows = np.uint64(top) * words + k_column, np.uint64(k_row) * words + j0
        done = U(0)
        while done < tile:
            e = U(0)
            while e < to_k_words * height // (threads * wide):
                at = U(wide * t + e * U(wide * threads))
                i, k = U(at // to_k_words), U(at % to_k_words)
                load(target, columns + np.uint64(i) * words + k, part)
                c = U(0)
                while c < wide:
                    word, at = part[c], U(k + c)
                    if packed:
                        to_k[U(2 * at), i] = U((word & 0xFFFF) * 0x10001)
                        to_k[U(2 * at + 1), i] = U((word >> 16) * 0x10001)
                    else:
                        to_k[at, i] = word
                    c = U(c + 1)
                e = U(e + 1)
            e = U(0)
            while e < depth * tile // (threads * wide):
                at = U(wide * t + e * U(wide * threads))
                k, j = U(at // tile), U(at % tile)
                load(panel, rows + np.uint64(k) * words + j, part)
                c = U(0)
                while c < wide:
                    from_k[k, U(j + c)] = part[c]
                    c = U(c + 1)
                e = U(e + 1)
            cuda.syncthreads()
            k = U(0)
            while k < depth:
                through(k, y, x, to_k, from_k, dist)
                through(U(k + 1), y, x, to_k, from_k, dist)
                through(U(k + 2), y, x, to_k, from_k, dist)
                through(U(k + 3), y, x, to_k, from_k, dist)
                k = U(k + 4)
            cuda.syncthreads()  # also before `across` writes what it read
            done = U(done + depth)
            columns, rows = columns + np.uint64(to_k_words), rows + np.uint64(depth) * words
        r = U(0)
        while r < per:
            line = np.uint64(top + place(y, r, height)) * words + j0
            c = U(0)
            while c < per:
                at = line + place(x, c, tile)
                load(target, at, part)
                i = U(0)
                while i < wide:
                    part[i] = relax(U(0), part[i], dist[r, U(c + i)])
                    i = U(i + 1)
                store(target, at, part)
                c = U(c + wide)
            r = U(r + 1)

    @cuda.jit(**bounds)
    def across(words, first, step, panel):
        top = U(step * tile + cuda.blockIdx.y * height)
        multiply(words, top, U((first + step) * tile // per_word), U(step * tile), panel, panel)

    @cuda.jit(**bounds)
    def rest(words, first, step, panel, target):
        top = U(cuda.blockIdx.y * height)
        multiply(words, top, U((first + step) * tile // per_word), U(step * tile), panel, target)

    @cuda.jit
    def unpack(n, words, matrix, dist):
        """A block a row."""
        row = np.uint64(cuda.blockIdx.x)
        v = U(cuda.threadIdx.x)
        while v < n:
            dist[row * n + v] = distance_in(matrix[row * words + U(v // per_word)], v)
            v = U(v + cuda.blockDim.x)

    return SimpleNamespace(initial=initial, close=close, across=across, rest=rest, unpack=unpack)


@cuda.jit
def find_predecessors(n, words, first, indptr, tails, weights, dist, predecessor, missed):
    """A block a source, first + row; arcs by head, cheapest first. missed[0] = 1 where an arc leads out of reach.

    Arcs of positive weight come first: their tails are nearer, so that predecessors lead to the
    source. Arcs of weight 0 could lead in circles: along them a vertex takes only a tail that has a
    predecessor already, until nothing changes.
    """
    row, source = np.uint64(cuda.blockIdx.x), U(first + cuda.blockIdx.x)
    here, there = row * words, row * n
    waiting = int32(0)
    v = U(cuda.threadIdx.x)
    while v < n:
        d, last = dist[here + v], int32(-1)
        arc, end = U(indptr[v]), U(indptr[U(v + 1)])
        while v != source and last == -1 and arc < end and weights[arc] <= d:
            u, w = U(tails[arc]), U(weights[arc])
            if d == INF:
                if dist[here + u] != INF:
                    missed[0] = 1
            elif w > 0 and dist[here + u] == U(d - w):
                last = int32(u)
            arc = U(arc + 1)
        predecessor[there + v] = last
        if v != source and d != INF and last == -1:
            waiting = int32(1)
        v = U(v + cuda.blockDim.x)
    while cuda.syncthreads_or(waiting) != 0:
        waiting = int32(0)
        v = U(cuda.threadIdx.x)
        while v < n:
            d = dist[here + v]
            if v != source and d != INF and predecessor[there + v] == -1:
                arc, end = U(indptr[v]), U(indptr[U(v + 1)])
                while arc < end and weights[arc] == 0:
                    u = U(tails[arc])
                    if dist[here + u] == d and (u == source or predecessor[there + u] != -1):
                        predecessor[there + v] = int32(u)
                        waiting = int32(1)
                        break
                    arc = U(arc + 1)
            v = U(v + cuda.blockDim.x)


def in_arcs(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int32: indptr (n + 1), tails (m), weights (m) of the arcs by head, those of one head cheapest first."""
    order = np.lexsort((graph.weights, graph.indices))
    indptr = np.zeros(graph.vertices + 1, np.int32)
    np.cumsum(np.bincount(graph.indices, minlength=graph.vertices), out=indptr[1:])
    return indptr, graph.tails[order], graph.weights[order]


def blocked(graph: Graph, result: Result, run: Run) -> None:
    """32 bits a distance; fills result, (n, n)."""
    _drive(graph, result, run, Form.of(run, packed=False))


def blocked16(graph: Graph, result: Result, run: Run) -> None:
    """16 bits a distance, and again with 32 where one does not fit; fills result, (n, n).

    With 32 bits at once on cards before compute capability 9.0, which take the minimum of pairs apart.
    """
    forms = [Form.of(run, packed=False)]
    if has_pairs() or not gpu_visible():
        forms.insert(0, Form.of(run, packed=True))
    _drive(graph, result, run, *forms)


def launches(vertices: int, tile: int) -> int:
    """Three launches a round; and the first matrix, its unpacking, the predecessors."""
    return 3 * Form.of(Run(tile=tile), packed=False).rounds(vertices) + 3


def launches16(vertices: int, tile: int) -> None:
    """Whether all is done again with 32 bits depends on the weights."""


def _drive(graph, result, run, *forms):
    n = graph.vertices
    run.require(4 * max(f.rounds(n) * f.tile * f.words(n) for f in forms) + 2 * 4 * n * n)
    out_arcs, into = run.upload_untimed(graph.indptr, graph.indices, graph.weights), run.upload_untimed(*in_arcs(graph))
    run.graph = True  # nothing here is the paper's, which waits after every launch
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor = run.allocate((n * n, np.uint32), (n * n, np.int32))
        for form in forms:
            with run.phase("kernels"):
                _distances(form, n, out_arcs, dist, run)
            with run.phase("predecessors"):
                (missed,), seen = run.upload(np.zeros(1, np.int32)), np.zeros(1, np.int32)
                lines, numbers = min(run.block, LINES), (np.uint32(n), np.uint32(n), np.uint32(0))
                run.launch((find_predecessors, n, lines, (*numbers, *into, dist, predecessor, missed)))
                run.download((missed, seen))
            if n > form.tile and not seen[0]:  # one tile is done in all forms, so that all are compiled beforehand
                break
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel().view(np.uint32)), (predecessor, result.predecessors.ravel()))


def _distances(form, n, out_arcs, dist, run):
    lines, kernel, words = min(run.block, LINES), kernels(form), form.words(n)
    rows = form.tile * form.rounds(n)
    (matrix,) = run.allocate((rows * words, np.uint32))
    numbers = np.uint32(n), np.uint32(words)
    run.launch((kernel.initial, rows, lines, (*numbers, np.uint32(0), *out_arcs, matrix)))
    close_rounds(form, n, matrix, run)
    run.launch((kernel.unpack, n, lines, (*numbers, matrix, dist)))


def close_rounds(form: Form, vertices: int, matrix, run: Run) -> None:
    """All rounds on a whole matrix on the card: uint32, flat, rounds * tile rows of `form.words`."""
    kernel, rounds, columns, threads = kernels(form), form.rounds(vertices), form.columns(vertices), form.threads
    panel = np.uint32(form.words(vertices)), np.uint32(0), STEP, matrix
    run.launch(
        (kernel.close, 1, form.close_side**2, panel),
        (kernel.across, (columns, form.blocks(1)), threads, panel),
        (kernel.rest, (columns, form.blocks(rounds)), threads, (*panel, matrix)),
        times=rounds,
    )


# Larger than the card's memory: the matrix stays on the host, and strips of whole rows come and go.
SHARE = 4  # the strips on the card are at most this part of the matrix (whole tiles at least)
STRIPS = 5  # on the card at a time: the panel, the next panel, and those coming, being lowered and going


def staged(graph: Graph, result: Result, run: Run) -> None:
    """As `blocked`, with a quarter of the matrix on the card; fills result, (n, n), which is the matrix.

    A round takes a strip's vertices at a time, the panel's. It is closed within itself by the same
    launches; then each other strip comes, is lowered through the panel, and goes, while the card
    lowers the one before: 2 * 4 * n * n bytes are copied for n * n * rows of the panel relaxations.
    """
    form, n = Form.of(run, packed=False), graph.vertices
    height, strips = _strips(form, n)
    if strips == 1:
        return blocked(graph, result, run)
    run.require(STRIPS * height * form.tile * form.words(n) * 4)
    out_arcs, into = run.upload_untimed(graph.indptr, graph.indices, graph.weights), run.upload_untimed(*in_arcs(graph))
    run.graph = True  # the host waits for a strip's launches, and not for the copies beside them
    distances = result.distances.view(np.uint32)
    size = height * form.tile
    dist_of = [distances[top : top + size] for top in range(0, n, size)]
    last_of = [result.predecessors[top : top + size] for top in range(0, n, size)]
    pinned = cuda.pinned(result.distances), cuda.pinned(result.predecessors)
    with run.timed(), pinned[0], pinned[1], Copies() as copies:  # page-locked until no copy is left
        with run.phase("copy_in"):
            buffers = run.allocate(*[(size * form.words(n), np.uint32)] * STRIPS)
            (missed,) = run.upload(np.zeros(1, np.int32))
        with run.phase("kernels"):
            _staged_distances(form, n, out_arcs, dist_of, buffers, copies, run)
        with run.phase("predecessors"):
            _staged_predecessors(form, n, into, dist_of, last_of, buffers, missed, copies, run)
    return None


def launches_staged(vertices: int, tile: int) -> int:
    """A panel is closed by three launches a tile, and so are the strips lowered; two more for each strip."""
    form = Form.of(Run(tile=tile), packed=False)
    tiles, (_, strips) = form.rounds(vertices), _strips(form, vertices)
    return launches(vertices, tile) if strips == 1 else 3 * tiles + tiles * (strips - 1) + 2 * strips


def _strips(form: Form, vertices: int) -> tuple[int, int]:
    """Tiles of a strip, and strips."""
    tiles = form.rounds(vertices)
    height = max(1, tiles // (SHARE * STRIPS))
    return height, blocks_for(tiles, height)


def _staged_distances(form, n, out_arcs, dist_of, buffers, copies, run):
    kernel, tiles, strips, words = kernels(form), form.rounds(n), len(dist_of), np.uint32(form.words(n))
    height, columns, threads, lines = _strips(form, n)[0], form.columns(n), form.threads, min(run.block, LINES)
    jobs = [(panel, (panel + i) % strips) for panel in range(strips) for i in range(strips)]
    free, on_card = buffers[1:], {0: buffers[0]}
    behind = None
    for job, (panel, strip) in enumerate(jobs):
        next_panel, ahead = jobs[job + 1] if job + 1 < len(jobs) else (panel, strip)
        if ahead not in on_card:
            on_card[ahead] = free.pop()
            if panel > 0:
                copies.to_card(dist_of[ahead], on_card[ahead], form.words(n))
        if behind not in (None, strip, panel + 1):
            copies.to_host(on_card[behind], dist_of[behind], form.words(n))
        rounds, rows = (min(height, tiles - s * height) for s in (panel, strip))
        arguments = (words, np.uint32(panel * height), STEP, on_card[panel])
        lower = kernel.rest, (columns, form.blocks(rows)), threads, (*arguments, on_card[strip])
        if panel == 0:
            first = np.uint32(strip * height * form.tile)
            numbers = np.uint32(n), words, first
            run.launch((kernel.initial, rows * form.tile, lines, (*numbers, *out_arcs, on_card[strip])))
        if strip == panel:
            close = kernel.close, 1, form.close_side**2, arguments
            across = kernel.across, (columns, form.blocks(1)), threads, arguments
            run.launch(close, across, lower, times=rounds)
        else:
            run.launch(lower, times=rounds)
        copies.wait()
        for done in on_card.keys() - {next_panel, next_panel + 1, strip, ahead}:
            free.append(on_card.pop(done))
        behind = strip
    copies.to_host(on_card[behind], dist_of[behind], form.words(n))
    copies.wait()


def _staged_predecessors(form, n, into, dist_of, last_of, buffers, missed, copies, run):
    dist, last, words = buffers[:2], [buffer.view(np.int32) for buffer in buffers[2:4]], form.words(n)
    copies.to_card(dist_of[0], dist[0], words)
    copies.wait()
    for strip, rows in enumerate(dist_of):
        here, there = strip % 2, (strip + 1) % 2
        if strip + 1 < len(dist_of):
            copies.to_card(dist_of[strip + 1], dist[there], words)
        if strip > 0:
            copies.to_host(last[there], last_of[strip - 1], n)
        numbers = np.uint32(n), np.uint32(words), np.uint32(strip * len(dist_of[0]))
        arguments = (*numbers, *into, dist[here], last[here], missed)
        run.launch((find_predecessors, len(rows), min(run.block, LINES), arguments))
        copies.wait()
    copies.to_host(last[here], last_of[-1], n)
    copies.wait()
