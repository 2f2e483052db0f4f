"""Blocked Floyd-Warshall with register tiles. It finds the distances, and then the predecessors from the distances.

The distance matrix M is cut into tiles. Each round takes the next `tile` vertices, the set K, as intermediate vertices
(G. Venkataraman, S. Sahni, S. Mukhopadhyaya, A Blocked All-Pairs Shortest-Paths Algorithm, ACM JEA 8, 2003; on a GPU:
G. J. Katz, J. T. Kider, All-Pairs Shortest-Paths for Large Graphs on the GPU, Graphics Hardware 2008). (x) is the
(min, +) product. A round is:

    diagonal    D = M[K, K] by Floyd-Warshall
    panel       M[K, :] = D (x) M[K, :]                the rows of K
    trailing    M = min(M, M[:, K] (x) M[K, :])        all rows

The names are those of blocked LU factorisation, but here `trailing` updates all tiles, including those above and left
of the diagonal tile. The paper calls the diagonal tile the primary tile.

While a block of `trailing` reads M[:, K], another block writes M[:, K]. The same holds for `panel` and M[K, :]. These
races are harmless. A new value is a minimum of sums of an old value and an entry of D. D already contains all paths
through K, so old and new values give the same product.

A block of threads computes half a tile of the product. A thread keeps 8 x 8 words of this half tile in registers and
executes one VIADDMNMX instruction per word and per vertex k of K. Index arithmetic runs on the same unit of the card as
VIADDMNMX. To reduce index arithmetic, a thread loads four words at once, and the loop over k is unrolled four times
(measured in docs/performance.md).

Words are unsigned, and infinity is 2^31 - 1. So the sum of two infinities does not wrap around and is not less than
infinity. In a packed matrix, a word holds two 16-bit distances, to two successive vertices. There infinity is 2^15 - 1,
so that no sum carries into the other half of a word. Rows and columns past the last vertex are filled with infinity.

A packed distance that does not fit in 15 bits becomes infinity. All distances that fit are exact. On a shortest path to
a vertex whose distance does not fit, let v be the first vertex whose distance does not fit, and u the vertex before v.
Then u is reached, v seems unreached, and there is an arc from u to v. `find_predecessors` reads all arcs and detects
such an arc.
"""

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

import numpy as np

from ..gpu.card import SIMULATED, gpu_visible, has_16_bit_pair_minimum
from ..gpu.compiler import cuda, uint32
from ..gpu.intrinsics import add_min, add_min_pairs, i32, load_four, store_four, u32, u64
from ..gpu.launching import STEP, blocks_for
from ..graph import INF, Graph
from ..run import Result, Run

MAX_DEPTH = 16  # maximum of TileShape.depth
PAD = 4  # unused words after each row of to_k, to avoid bank conflicts of a warp that writes to several rows at once
PACKED_INF = 2**15 - 1
BLOCKS_PER_MULTIPROCESSOR = 4  # blocks of the product that must fit on a multiprocessor; limits a thread's registers
ROW_THREADS = 256  # maximum threads per block of the kernels with one block per row


@dataclass(frozen=True)
class TileShape:
    """The shape of a tile. Two blocks of threads, with side x side threads together, compute a tile.

    A thread computes `per` x `per` words.
    """

    side: int
    per: int
    packed: bool  # whether a word holds two distances

    @classmethod
    def of(cls, run: Run, packed: bool) -> "TileShape":
        """Return a shape of 4 x 4 words if run.tile is less than 32 (for the simulator), else of 128 x 128 words."""
        return cls(16, 8, packed) if run.tile >= 32 else cls(2, 2, packed)

    @property
    def tile(self) -> int:
        """Side of a tile: its number of rows, the words of a row, and the intermediate vertices of a round."""
        return self.side * self.per

    @property
    def height(self) -> int:
        """Number of rows of half a tile (upper or lower), which one block of threads computes."""
        return self.side // 2 * self.per

    @property
    def threads(self) -> int:
        """Number of threads in a block of the product."""
        return self.side * self.height // self.per

    @property
    def diagonal_per(self) -> int:
        """Number of rows and of columns of a thread of `diagonal`. It is below `per`, so that loops are unrolled."""
        return max(2, self.per // 2)

    @property
    def diagonal_side(self) -> int:
        """Number of threads along one side of the tile in `diagonal`."""
        return self.tile // self.diagonal_per

    @property
    def per_word(self) -> int:
        """Number of distances per word."""
        return 2 if self.packed else 1

    @property
    def inf(self) -> int:
        """A word in which every distance is infinity."""
        return PACKED_INF * 0x10001 if self.packed else INF

    @property
    def relax(self):
        """Device function (a, b, c) that returns min(a + b, c) for each distance in a word."""
        return add_min_pairs if self.packed else add_min

    @property
    def wide(self) -> int:
        """Number of successive words that a thread of the product loads at once."""
        return self.per // 2

    @property
    def depth(self) -> int:
        """Number of intermediate vertices whose distances are in shared memory at a time."""
        return min(MAX_DEPTH, self.tile)

    def rounds(self, vertices: int) -> int:
        """Return the number of rounds, which is also the number of rows of tiles."""
        return blocks_for(vertices, self.tile)

    def blocks(self, tiles: int) -> int:
        """Return the number of blocks of threads for the product in a column of `tiles` tiles."""
        return tiles * self.tile // self.height

    def columns(self, vertices: int) -> int:
        """Return the number of tiles in a row of tiles."""
        return blocks_for(vertices, self.tile * self.per_word)

    def pitch(self, vertices: int) -> int:
        """Return the number of words in a row of the matrix, a multiple of the tile."""
        return self.columns(vertices) * self.tile


@cache
def kernels(shape: TileShape) -> SimpleNamespace:
    """Return the kernels for tiles of one shape: initial, diagonal, panel, trailing, unpack.

    Matrices are flat arrays with `pitch` words per row. In staged_floyd_warshall.py, a matrix is a strip: some rows of
    the whole matrix. `pivot` is the strip of the intermediate vertices. Row 0 of `pivot` belongs to vertex
    first_tile * tile. Round number round_ uses the `tile` rows of `pivot` from row round_ * tile on. `target` is the
    strip to update. Without strips, `pivot` and `target` are the whole matrix, and first_tile is 0.
    """
    panel, trailing = products(shape)
    return SimpleNamespace(
        initial=initial_kernel(shape),
        diagonal=diagonal_kernel(shape),
        panel=panel,
        trailing=trailing,
        unpack=unpack_kernel(shape),
    )


def initial_kernel(shape: TileShape):
    """Return the kernel that fills the matrix from the graph."""
    per_word, packed, inf, relax = shape.per_word, shape.packed, shape.inf, shape.relax

    @cuda.jit(device=True)
    def word_of(distance, v):
        """Return a word with this distance to v. If packed, the other half of the word is infinity."""
        if packed:
            distance = min(distance, PACKED_INF)
            return u32(distance << 16 | PACKED_INF) if v % 2 else u32(PACKED_INF << 16 | distance)
        return u32(distance)

    @cuda.jit(device=True)
    def atomic_min(matrix, at, word):
        """Lower matrix[at] to `word`, or each half if packed. No atomic instruction lowers halves, so use CAS."""
        old = matrix[at]
        seen = u32(~old)
        while seen != old:
            seen = old
            old = cuda.atomic.cas(matrix, at, seen, relax(u32(0), word, seen))

    @cuda.jit
    def initial(n, pitch, first_vertex, indptr, indices, weights, matrix):
        """Fill the row of vertex first_vertex + block: 0 for the vertex, weights for its arcs' heads, else infinity."""
        row, t, stride = u64(cuda.blockIdx.x) * pitch, u32(cuda.threadIdx.x), u32(cuda.blockDim.x)
        at = t
        while at < pitch:
            matrix[row + at] = u32(inf)
            at = u32(at + stride)
        cuda.syncthreads()
        u = u32(first_vertex + cuda.blockIdx.x)
        if u < n:
            if t == 0:
                atomic_min(matrix, row + u32(u // per_word), word_of(0, u))
            arc, end = u32(indptr[u] + t), u32(indptr[u32(u + 1)])
            while arc < end:
                v = u32(indices[arc])
                atomic_min(matrix, row + u32(v // per_word), word_of(weights[arc], v))
                arc = u32(arc + stride)

    return initial


def unpack_kernel(shape: TileShape):
    """Return the kernel that converts the final matrix to 32-bit distances."""
    per_word, packed = shape.per_word, shape.packed

    @cuda.jit(device=True)
    def distance_in(word, v):
        """Return the distance to v in a word; INF if there is no path."""
        if packed:
            distance = u32(word >> 16) if v % 2 else u32(word & 0xFFFF)
            return u32(INF) if distance == PACKED_INF else distance
        return word

    @cuda.jit
    def unpack(n, pitch, matrix, dist):
        """Convert one row of the matrix per block to 32-bit distances."""
        row = u64(cuda.blockIdx.x)
        v = u32(cuda.threadIdx.x)
        while v < n:
            dist[row * n + v] = distance_in(matrix[row * pitch + u32(v // per_word)], v)
            v = u32(v + cuda.blockDim.x)

    return unpack


def tile_copiers(shape: TileShape) -> tuple:
    """Return device functions (pitch, corner, pivot, dist) that load and store a thread's words of the diagonal tile.

    dist: the thread's distances, one per word. corner: index of the thread's first word in pivot.
    """
    per_word, packed, per = shape.per_word, shape.packed, shape.diagonal_per

    @cuda.jit(device=True)
    def load_tile(pitch, corner, pivot, dist):
        r = u32(0)
        while r < per:
            c = u32(0)
            while c < per // per_word:
                word = pivot[corner + u64(r) * pitch + c]
                if packed:
                    dist[r, u32(2 * c)], dist[r, u32(2 * c + 1)] = u32(word & 0xFFFF), u32(word >> 16)
                else:
                    dist[r, c] = word
                c = u32(c + 1)
            r = u32(r + 1)

    @cuda.jit(device=True)
    def store_tile(pitch, corner, pivot, dist):
        r = u32(0)
        while r < per:
            c = u32(0)
            while c < per // per_word:
                word = u32(dist[r, u32(2 * c + 1)] << 16 | dist[r, u32(2 * c)]) if packed else dist[r, c]
                pivot[corner + u64(r) * pitch + c] = word
                c = u32(c + 1)
            r = u32(r + 1)

    return load_tile, store_tile


def diagonal_kernel(shape: TileShape):
    """Return the kernel of a round's diagonal tile."""
    tile, per_word, per, diagonal_side = shape.tile, shape.per_word, shape.diagonal_per, shape.diagonal_side
    diagonal_bounds = {} if SIMULATED else {"launch_bounds": diagonal_side**2}  # limits the registers
    load_tile, store_tile = tile_copiers(shape)

    @cuda.jit(**diagonal_bounds)
    def diagonal(pitch, first_tile, round_, pivot):
        """Run Floyd-Warshall in one tile with one block; a thread has `per` x `per` distances, unpacked to 32 bits."""
        to_k = cuda.shared.array((2, tile), uint32)
        from_k = cuda.shared.array((2, tile), uint32)
        dist = cuda.local.array((per, per), uint32)
        y, x = u32(cuda.threadIdx.x // diagonal_side), u32(cuda.threadIdx.x % diagonal_side)
        corner = u64(round_ * tile + y * per) * pitch + u32(((first_tile + round_) * tile + x * per) // per_word)
        load_tile(pitch, corner, pivot, dist)
        owner = u32(0)  # threads with y == owner have row k, threads with x == owner have column k
        while owner < diagonal_side:
            k = u32(0)
            while k < per:  # the row and the column of k are double-buffered, so one barrier is enough
                if y == owner:
                    c = u32(0)
                    while c < per:
                        from_k[u32(k % 2), u32(x * per + c)] = dist[k, c]
                        c = u32(c + 1)
                if x == owner:
                    r = u32(0)
                    while r < per:
                        to_k[u32(k % 2), u32(y * per + r)] = dist[r, k]
                        r = u32(r + 1)
                cuda.syncthreads()
                r = u32(0)
                while r < per:
                    c = u32(0)
                    while c < per:
                        left, right = to_k[u32(k % 2), u32(y * per + r)], from_k[u32(k % 2), u32(x * per + c)]
                        dist[r, c] = add_min(left, right, dist[r, c])
                        c = u32(c + 1)
                    r = u32(r + 1)
                k = u32(k + 1)
            owner = u32(owner + 1)
        store_tile(pitch, corner, pivot, dist)

    return diagonal


@cache
def part_movers(wide: int) -> tuple:
    """Return two device functions (matrix, at, part) for the `wide` words that start at matrix[at].

    The first function loads these words into `part`. The second function stores `part` there.
    """

    @cuda.jit(device=True)
    def load(matrix, at, part):
        if wide == 4 and not SIMULATED:
            part[0], part[1], part[2], part[3] = load_four(matrix, at)
        else:
            i = u32(0)
            while i < wide:
                part[i] = matrix[at + i]
                i = u32(i + 1)

    @cuda.jit(device=True)
    def store(matrix, at, part):
        if wide == 4 and not SIMULATED:
            store_four(matrix, at, (part[0], part[1], part[2], part[3]))
        else:
            i = u32(0)
            while i < wide:
                matrix[at + i] = part[i]
                i = u32(i + 1)

    return load, store


def product_readers(shape: TileShape) -> tuple:
    """Return read_to_k and read_from_k: they load the distances to and from `depth` vertices k into shared memory."""
    tile, height, packed, depth = shape.tile, shape.height, shape.packed, shape.depth
    threads, wide, to_k_words = shape.threads, shape.wide, shape.depth // shape.per_word
    load, _ = part_movers(wide)

    @cuda.jit(device=True)
    def read_to_k(pitch, columns, target, t, to_k, part):
        """Set to_k[k, i] to the distance from row i of the half tile to the k-th vertex; if packed, set both halves."""
        e = u32(0)
        while e < to_k_words * height // (threads * wide):
            at = u32(wide * t + e * u32(wide * threads))
            i, k = u32(at // to_k_words), u32(at % to_k_words)
            load(target, columns + u64(i) * pitch + k, part)
            c = u32(0)
            while c < wide:
                word, at = part[c], u32(k + c)
                if packed:
                    to_k[u32(2 * at), i] = u32((word & 0xFFFF) * 0x10001)
                    to_k[u32(2 * at + 1), i] = u32((word >> 16) * 0x10001)
                else:
                    to_k[at, i] = word
                c = u32(c + 1)
            e = u32(e + 1)

    @cuda.jit(device=True)
    def read_from_k(pitch, rows, pivot, t, from_k, part):
        """Set from_k[k, j] to the j-th word of the distances from the k-th vertex."""
        e = u32(0)
        while e < depth * tile // (threads * wide):
            at = u32(wide * t + e * u32(wide * threads))
            k, j = u32(at // tile), u32(at % tile)
            load(pivot, rows + u64(k) * pitch + j, part)
            c = u32(0)
            while c < wide:
                from_k[k, u32(j + c)] = part[c]
                c = u32(c + 1)
            e = u32(e + 1)

    return read_to_k, read_from_k


def product_relaxers(shape: TileShape) -> tuple:
    """Return two device functions: one relaxes a thread's words through a vertex k, one merges them into the target."""
    per, tile, height, wide, relax = shape.per, shape.tile, shape.height, shape.wide, shape.relax
    load, store = part_movers(wide)

    @cuda.jit(device=True)
    def position(thread, i, length):
        """Return the index, below `length`, of a thread's i-th row or column.

        A thread has half of its rows or columns in each half of the range. So the 16-byte loads of neighbouring threads
        have no bank conflicts.
        """
        return u32((i // wide) * (length // 2) + thread * wide + i % wide)

    @cuda.jit(device=True)
    def relax_through(k, y, x, to_k, from_k, dist):
        """Relax the thread's words through one k."""
        left = cuda.local.array(per, uint32)
        right = cuda.local.array(per, uint32)
        i = u32(0)
        while i < per:
            left[i], right[i] = to_k[k, position(y, i, height)], from_k[k, position(x, i, tile)]
            i = u32(i + 1)
        r = u32(0)
        while r < per:
            c = u32(0)
            while c < per:
                dist[r, c] = relax(left[r], right[c], dist[r, c])
                c = u32(c + 1)
            r = u32(r + 1)

    @cuda.jit(device=True)
    def relax_rows(pitch, top, j0, y, x, dist, target, part):
        """Set target to min(target, dist) for the thread's words."""
        r = u32(0)
        while r < per:
            row = u64(top + position(y, r, height)) * pitch + j0
            c = u32(0)
            while c < per:
                at = row + position(x, c, tile)
                load(target, at, part)
                i = u32(0)
                while i < wide:
                    part[i] = relax(u32(0), part[i], dist[r, u32(c + i)])
                    i = u32(i + 1)
                store(target, at, part)
                c = u32(c + wide)
            r = u32(r + 1)

    return relax_through, relax_rows


def product(shape: TileShape):
    """Return a device function that computes a block's product of tiles."""
    side, per, tile, inf, wide = shape.side, shape.per, shape.tile, shape.inf, shape.wide
    depth, to_k_words, padded = shape.depth, shape.depth // shape.per_word, shape.height + PAD
    read_to_k, read_from_k = product_readers(shape)
    relax_through, relax_rows = product_relaxers(shape)

    @cuda.jit(device=True)
    def multiply(pitch, top, k_column, k_row, pivot, target):
        """Set target to min(target, target[:, K] (x) pivot[K, :]) in the rows from `top` on and the block's columns."""
        to_k = cuda.shared.array((depth, padded), uint32)
        from_k = cuda.shared.array((depth, tile), uint32)
        dist = cuda.local.array((per, per), uint32)
        part = cuda.local.array(wide, uint32)
        t, j0 = u32(cuda.threadIdx.x), u32(cuda.blockIdx.x * tile)
        y, x = u32(t // side), u32(t % side)
        r = u32(0)
        while r < per:
            c = u32(0)
            while c < per:
                dist[r, c] = u32(inf)
                c = u32(c + 1)
            r = u32(r + 1)
        columns, rows = u64(top) * pitch + k_column, u64(k_row) * pitch + j0
        done = u32(0)
        while done < tile:
            read_to_k(pitch, columns, target, t, to_k, part)
            read_from_k(pitch, rows, pivot, t, from_k, part)
            cuda.syncthreads()
            k = u32(0)
            while k < depth:
                relax_through(k, y, x, to_k, from_k, dist)
                relax_through(u32(k + 1), y, x, to_k, from_k, dist)
                relax_through(u32(k + 2), y, x, to_k, from_k, dist)
                relax_through(u32(k + 3), y, x, to_k, from_k, dist)
                k = u32(k + 4)
            cuda.syncthreads()  # before shared memory is overwritten (in `panel`, also the rows of pivot)
            done = u32(done + depth)
            columns, rows = columns + u64(to_k_words), rows + u64(depth) * pitch
        relax_rows(pitch, top, j0, y, x, dist, target, part)

    return multiply


def products(shape: TileShape) -> tuple:
    """Return the kernels `panel` and `trailing`, which compute the same product for different rows."""
    tile, per_word, height, multiply = shape.tile, shape.per_word, shape.height, product(shape)
    bounds = {} if SIMULATED else {"launch_bounds": (shape.threads, BLOCKS_PER_MULTIPROCESSOR)}

    @cuda.jit(**bounds)
    def panel(pitch, first_tile, round_, pivot):
        """Relax the rows of the round's vertices."""
        top = u32(round_ * tile + cuda.blockIdx.y * height)
        multiply(pitch, top, u32((first_tile + round_) * tile // per_word), u32(round_ * tile), pivot, pivot)

    @cuda.jit(**bounds)
    def trailing(pitch, first_tile, round_, pivot, target):
        """Relax all rows of target."""
        top = u32(cuda.blockIdx.y * height)
        multiply(pitch, top, u32((first_tile + round_) * tile // per_word), u32(round_ * tile), pivot, target)

    return panel, trailing


@cuda.jit
def find_predecessors(n, pitch, first_source, indptr, tails, weights, dist, predecessor, overflow):  # noqa: PLR0913
    """Set the predecessors in one row per block. Row r belongs to source first_source + r.

    indptr, tails, weights: the result of `arcs_by_head`. If an arc leads from a reached to an unreached vertex, the
    distance of the unreached vertex did not fit; then set overflow[0] = 1.

    The first pass uses only arcs of positive weight. Their tails are nearer to the source than their heads, so these
    predecessors lead to the source. Arcs of weight 0 could form cycles. Later passes use an arc of weight 0 only if its
    tail is the source or already has a predecessor. If the tail gets its predecessor during a pass, this pass may miss
    the arc; the next pass uses it. The passes end when no predecessor changes.
    """
    row, source = u64(cuda.blockIdx.x), u32(first_source + cuda.blockIdx.x)
    dist_row, predecessor_row = row * pitch, row * n
    waiting = i32(0)
    v = u32(cuda.threadIdx.x)
    while v < n:
        d, last = dist[dist_row + v], i32(-1)
        arc, end = u32(indptr[v]), u32(indptr[u32(v + 1)])
        while v != source and last == -1 and arc < end and weights[arc] <= d:
            u, w = u32(tails[arc]), u32(weights[arc])
            if d == INF:
                if dist[dist_row + u] != INF:
                    overflow[0] = 1
            elif w > 0 and dist[dist_row + u] == u32(d - w):
                last = i32(u)
            arc = u32(arc + 1)
        predecessor[predecessor_row + v] = last
        if v != source and d != INF and last == -1:
            waiting = i32(1)
        v = u32(v + cuda.blockDim.x)
    while cuda.syncthreads_or(waiting) != 0:
        waiting = i32(0)
        v = u32(cuda.threadIdx.x)
        while v < n:
            d = dist[dist_row + v]
            if v != source and d != INF and predecessor[predecessor_row + v] == -1:
                arc, end = u32(indptr[v]), u32(indptr[u32(v + 1)])
                while arc < end and weights[arc] == 0:
                    u = u32(tails[arc])
                    if dist[dist_row + u] == d and (u == source or predecessor[predecessor_row + u] != -1):
                        predecessor[predecessor_row + v] = i32(u)
                        waiting = i32(1)
                        break
                    arc = u32(arc + 1)
            v = u32(v + cuda.blockDim.x)


def arcs_by_head(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arcs grouped by head, the cheapest arc of a head first.

    The result is three int32 arrays: indptr of shape (n + 1,); tails and weights of shape (m,).
    """
    order = np.lexsort((graph.weights, graph.indices))
    indptr = np.zeros(graph.vertices + 1, np.int32)
    np.cumsum(np.bincount(graph.indices, minlength=graph.vertices), out=indptr[1:])
    return indptr, graph.tails[order], graph.weights[order]


def blocked(graph: Graph, result: Result, run: Run) -> None:
    """Search with 32 bits per distance and fill `result`, of shape (n, n)."""
    _find_paths(graph, result, run, TileShape.of(run, packed=False))


def blocked16(graph: Graph, result: Result, run: Run) -> None:
    """Search with two 15-bit distances per word and fill `result`, of shape (n, n).

    If a distance does not fit in 15 bits, search again with 32 bits. Cards before compute capability 9.0 search only
    with 32 bits, because a packed minimum takes several instructions.
    """
    shapes = [TileShape.of(run, packed=False)]
    if has_16_bit_pair_minimum() or not gpu_visible():
        shapes.insert(0, TileShape.of(run, packed=True))
    _find_paths(graph, result, run, *shapes)


def launches(vertices: int, tile: int) -> int:
    """Return the number of launches: three per round, and `initial`, `unpack` and `find_predecessors`."""
    return 3 * TileShape.of(Run(tile=tile), packed=False).rounds(vertices) + 3


def launches16(vertices: int, tile: int) -> None:
    """Return None: it depends on the weights whether a second search, with 32 bits, follows."""


def upload_arcs(graph: Graph, run: Run) -> tuple[list, list]:
    """Copy the graph's arrays, and its arcs by head, to the card before the clock starts."""
    return run.upload_untimed(graph.indptr, graph.indices, graph.weights), run.upload_untimed(*arcs_by_head(graph))


def _find_paths(graph: Graph, result: Result, run: Run, *shapes: TileShape) -> None:
    """Search with one shape after the other until all distances fit, and fill `result`."""
    n = graph.vertices
    run.require(4 * max(s.rounds(n) * s.tile * s.pitch(n) for s in shapes) + 2 * 4 * n * n)
    out_arcs, in_arcs = upload_arcs(graph, run)
    run.cuda_graph = True  # the host does not wait after each launch
    with run.timed():
        with run.phase("copy_in"):
            dist, predecessor = run.allocate((n * n, np.uint32), (n * n, np.int32))
        for shape in shapes:
            with run.phase("kernels"):
                _find_distances(shape, n, out_arcs, dist, run)
            with run.phase("predecessors"):
                (overflow,), overflowed = run.upload(np.zeros(1, np.int32)), np.zeros(1, np.int32)
                arguments = np.uint32(n), np.uint32(n), np.uint32(0), *in_arcs, dist, predecessor, overflow
                run.launch((find_predecessors, n, min(run.block, ROW_THREADS), arguments))
                run.download((overflow, overflowed))
            # A graph of one tile, such as the warm-up graph, runs in every shape, so that all kernels are compiled.
            if n > shape.tile and not overflowed[0]:
                break
        with run.phase("copy_out"):
            run.download((dist, result.distances.ravel().view(np.uint32)), (predecessor, result.predecessors.ravel()))


def _find_distances(shape: TileShape, n: int, out_arcs: list, dist, run: Run) -> None:
    """Fill `dist` on the card: uint32, (n * n,)."""
    row_threads, kernel, pitch = min(run.block, ROW_THREADS), kernels(shape), shape.pitch(n)
    rows = shape.tile * shape.rounds(n)
    (matrix,) = run.allocate((rows * pitch, np.uint32))
    numbers = np.uint32(n), np.uint32(pitch)
    run.launch((kernel.initial, rows, row_threads, (*numbers, np.uint32(0), *out_arcs, matrix)))
    run_rounds(shape, n, matrix, run)
    run.launch((kernel.unpack, n, row_threads, (*numbers, matrix, dist)))


def run_rounds(shape: TileShape, vertices: int, matrix, run: Run) -> None:
    """Run all rounds on a whole matrix on the card.

    matrix: uint32, flat; it has rounds * tile rows of shape.pitch(vertices) words.
    """
    kernel, rounds, columns, threads = kernels(shape), shape.rounds(vertices), shape.columns(vertices), shape.threads
    arguments = np.uint32(shape.pitch(vertices)), np.uint32(0), STEP, matrix
    run.launch(
        (kernel.diagonal, 1, shape.diagonal_side**2, arguments),
        (kernel.panel, (columns, shape.blocks(1)), threads, arguments),
        (kernel.trailing, (columns, shape.blocks(rounds)), threads, (*arguments, matrix)),
        times=rounds,
    )
