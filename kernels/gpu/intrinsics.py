"""Device functions that numba lacks or that compile better than numba's, and short names of the types."""

from collections.abc import Callable
from functools import cache

import numpy as np
from llvmlite import ir

from .card import SIMULATED
from .compiler import cuda, intrinsic, types

# Numba computes integers in 64 bits, so kernels convert each result to one of these types at once.
u32, u64, i32, i64, f64 = np.uint32, np.uint64, np.int32, np.int64, np.float64
LOW, HIGH = u32(0xFFFF), u32(0xFFFF0000)  # masks of the lower and the upper half of a word
# Without this bound the compiler may use more registers per thread than a block of 1,024 threads can have on cards
# before compute capability 9.0. Such a block cannot be launched. The simulator rejects the option.
LAUNCH_BOUNDS = {} if SIMULATED else {"launch_bounds": 1024}
FULL_WARP = 0xFFFFFFFF  # mask of all threads of a warp


@cuda.jit(device=True)
def thread_x():
    """Return the thread's index in the grid along x, uint32. Numba's cuda.grid is slower, because it has 64 bits."""
    return np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)


@cuda.jit(device=True)
def thread_y():
    """Return the thread's index in the grid along y, uint32."""
    return np.uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)


@cuda.jit(device=True)
def min_pairs(a, b):
    """Return a word with the minimum of the upper halves and the minimum of the lower halves of two words, uint32."""
    return np.uint32((min(a, b) & HIGH) | min(np.uint32(a & LOW), np.uint32(b & LOW)))


@cuda.jit(device=True)
def add_min(a, b, c):
    """Return min(a + b, c): one VIADDMNMX from compute capability 9.0 on."""
    return min(u32(a + b), c)


if SIMULATED:

    @cuda.jit(device=True)
    def add_min_pairs(a, b, c):
        low = min((a & 0xFFFF) + (b & 0xFFFF), c & 0xFFFF)
        return u32(min((a >> 16) + (b >> 16), c >> 16) << 16 | low)

    min_pairs_native = min_pairs

    @cuda.jit(device=True)
    def load_fresh(array, at):
        return array[at]

    def _load(count: int):
        return lambda array, at: tuple([array[at + i] for i in range(count)])

    def _store(count: int):
        def store(array, at, words):
            for i in range(count):
                array[at + i] = words[i]

        return store

else:

    def _assembly(text: str):
        """Return the code generator for a PTX instruction whose operands and result are 32-bit words."""

        def codegen(context, builder, signature, arguments):
            word, count = ir.IntType(32), len(arguments)
            kind = ir.FunctionType(word, [word] * count)
            return builder.call(ir.InlineAsm(kind, text, ",".join(["=r", *["r"] * count])), arguments)

        return codegen

    @intrinsic
    def add_min_pairs(typing_context, a, b, c):
        """Return min(a + b, c) in each half of a word: one VIADDMNMX.U16x2 from compute capability 9.0 on."""
        text = "{ .reg .b32 sum; add.u16x2 sum, $1, $2; min.u16x2 $0, sum, $3; }"
        return types.uint32(types.uint32, types.uint32, types.uint32), _assembly(text)

    @intrinsic
    def min_pairs_native(typing_context, a, b):
        """Return min_pairs(a, b) by one instruction, which requires compute capability 9.0."""
        return types.uint32(types.uint32, types.uint32), _assembly("min.u16x2 $0, $1, $2;")

    def _address(context, builder, kind, array, at, count):
        data = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), ir.VectorType(ir.IntType(32), count).as_pointer())

    @intrinsic
    def load_fresh(typing_context, array, at):
        """Return array[at], a 32-bit word, as other blocks see it: a plain load may find an old value. `at`: uint64."""

        def codegen(context, builder, signature, arguments):
            pointer = _address(context, builder, signature.args[0], *arguments, 1)
            address = builder.ptrtoint(pointer, ir.IntType(64))
            kind = ir.FunctionType(ir.IntType(32), [ir.IntType(64)])
            text = "ld.relaxed.gpu.global.u32 $0, [$1];"
            return builder.call(ir.InlineAsm(kind, text, "=r,l", side_effect=True), [address])

        return array.dtype(array, at), codegen

    def _load(count: int):
        @intrinsic
        def load(typing_context, array, at):
            def codegen(context, builder, signature, arguments):
                words = builder.load(_address(context, builder, array, *arguments, count), align=4 * count)
                parts = [builder.extract_element(words, ir.IntType(32)(i)) for i in range(count)]
                return context.make_tuple(builder, signature.return_type, parts)

            return types.UniTuple(array.dtype, count)(array, at), codegen

        return load

    def _store(count: int):
        @intrinsic
        def store(typing_context, array, at, words):
            def codegen(context, builder, signature, arguments):
                into, index, values = arguments
                vector = ir.VectorType(ir.IntType(32), count)(ir.Undefined)
                for i in range(count):
                    vector = builder.insert_element(vector, builder.extract_value(values, i), ir.IntType(32)(i))
                builder.store(vector, _address(context, builder, array, into, index, count), align=4 * count)
                return context.get_dummy_value()

            return types.void(array, at, words), codegen

        return store


@cache
def loader(count: int):
    """Return a device function (array, at) that returns a tuple of `count` words of a flat array, from `at` on.

    The words have 32 bits. count: 1, 2 or 4. `at` has 64 bits and must be a multiple of `count`. The load is one
    instruction.
    """
    return _load(count)


@cache
def storer(count: int):
    """Return a device function (array, at, words) that stores a tuple of `count` words; the inverse of `loader`."""
    return _store(count)


load_four, store_four = loader(4), storer(4)


@cache
def same(count: int):
    """Return a device function that returns a tuple of `count` copies of its argument."""
    copies = {1: lambda a: (a,), 2: lambda a: (a, a), 4: lambda a: (a, a, a, a)}
    return cuda.jit(device=True)(copies[count])


@cache
def each(function, count: int, arguments: int):
    """Return a device function that applies `function` to tuples element by element and returns a tuple.

    count: the length of each tuple. arguments: the number of tuples, 1 to 3. Each case is written out, because numba
    does not unroll loops over tuples.
    """
    calls: dict[tuple[int, int], Callable] = {
        (1, 1): lambda a: (function(a[0]),),
        (1, 2): lambda a: (function(a[0]), function(a[1])),
        (1, 4): lambda a: (function(a[0]), function(a[1]), function(a[2]), function(a[3])),
        (2, 1): lambda a, b: (function(a[0], b[0]),),
        (2, 2): lambda a, b: (function(a[0], b[0]), function(a[1], b[1])),
        (2, 4): lambda a, b: (
            function(a[0], b[0]),
            function(a[1], b[1]),
            function(a[2], b[2]),
            function(a[3], b[3]),
        ),
        (3, 1): lambda a, b, c: (function(a[0], b[0], c[0]),),
        (3, 2): lambda a, b, c: (function(a[0], b[0], c[0]), function(a[1], b[1], c[1])),
        (3, 4): lambda a, b, c: (
            function(a[0], b[0], c[0]),
            function(a[1], b[1], c[1]),
            function(a[2], b[2], c[2]),
            function(a[3], b[3], c[3]),
        ),
    }
    return cuda.jit(device=True)(calls[arguments, count])
