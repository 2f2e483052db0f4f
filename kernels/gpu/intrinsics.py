"""Device functions that numba lacks, or that compile better than its own, and short names of the integer types."""

import numpy as np
from llvmlite import ir
from numba import cuda, types

from kernels.gpu.card import SIMULATED

u32, u64, i32 = np.uint32, np.uint64, np.int32  # numba adds and multiplies in 64 bits: each result is narrowed at once
LOW, HIGH = u32(0xFFFF), u32(0xFFFF0000)  # masks of the lower and the upper half of a word


@cuda.jit(device=True)
def thread_x():
    """The thread's number in the grid along x, uint32; numba's cuda.grid is 64 bits wide and compiles worse."""
    return np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)


@cuda.jit(device=True)
def thread_y():
    """The same along y."""
    return np.uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)


@cuda.jit(device=True)
def min_pairs(a, b):
    """The minimum of two words, uint32, in the upper and in the lower half each."""
    return np.uint32((min(a, b) & HIGH) | min(np.uint32(a & LOW), np.uint32(b & LOW)))


@cuda.jit(device=True)
def add_min(a, b, c):
    """min(a + b, c): one VIADDMNMX from compute capability 9.0 on."""
    return min(u32(a + b), c)


if SIMULATED:

    @cuda.jit(device=True)
    def add_min_pairs(a, b, c):
        low = min((a & 0xFFFF) + (b & 0xFFFF), c & 0xFFFF)
        return u32(min((a >> 16) + (b >> 16), c >> 16) << 16 | low)

    min_pairs_native = min_pairs

    def load_four(matrix, at):
        """As on the card: four words of a flat uint32 matrix from `at` on."""
        return matrix[at], matrix[at + 1], matrix[at + 2], matrix[at + 3]

    def store_four(matrix, at, words):
        matrix[at], matrix[at + 1], matrix[at + 2], matrix[at + 3] = words

else:
    from numba.extending import intrinsic

    @intrinsic
    def add_min_pairs(typing_context, a, b, c):
        """min(a + b, c) in each half of a word: one VIADDMNMX.U16x2 from compute capability 9.0 on."""

        def codegen(context, builder, signature, arguments):
            word = ir.IntType(32)
            text = "{ .reg .b32 sum; add.u16x2 sum, $1, $2; min.u16x2 $0, sum, $3; }"
            return builder.call(ir.InlineAsm(ir.FunctionType(word, [word] * 3), text, "=r,r,r,r"), arguments)

        return types.uint32(types.uint32, types.uint32, types.uint32), codegen

    def four_words_at(context, builder, matrix, array, at):
        data = context.make_array(matrix)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), ir.VectorType(ir.IntType(32), 4).as_pointer())

    @intrinsic
    def load_four(typing_context, matrix, at):
        """Four words of a flat uint32 matrix in one instruction; `at` is a multiple of four, and has 64 bits."""

        def codegen(context, builder, signature, arguments):
            words = builder.load(four_words_at(context, builder, matrix, *arguments), align=16)
            parts = [builder.extract_element(words, ir.IntType(32)(i)) for i in range(4)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.uint32, 4)(matrix, at), codegen

    @intrinsic
    def store_four(typing_context, matrix, at, words):
        def codegen(context, builder, signature, arguments):
            array, index, values = arguments
            vector = ir.VectorType(ir.IntType(32), 4)(ir.Undefined)
            for i in range(4):
                vector = builder.insert_element(vector, builder.extract_value(values, i), ir.IntType(32)(i))
            builder.store(vector, four_words_at(context, builder, matrix, array, index), align=16)
            return context.get_dummy_value()

        return types.void(matrix, at, words), codegen

    @intrinsic
    def min_pairs_native(typing_context, a, b):
        """min_pairs in one instruction, which cards have from compute capability 9.0 on."""

        def codegen(context, builder, signature, arguments):
            word = ir.IntType(32)
            assembly = ir.InlineAsm(ir.FunctionType(word, [word] * 2), "min.u16x2 $0, $1, $2;", "=r,r,r")
            return builder.call(assembly, arguments)

        return types.uint32(types.uint32, types.uint32), codegen
