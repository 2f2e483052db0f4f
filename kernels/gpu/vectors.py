"""Several words of an array at once: loads, stores, and what is done to each word."""

from functools import cache

from llvmlite import ir
from numba import cuda, types

from kernels.gpu.card import SIMULATED

if SIMULATED:

    @cache
    def loader(count: int):
        """A device function (array, at): `count` words of a flat array of 32-bit words from `at` on, as a tuple.

        count: 1, 2 or 4. `at` is a multiple of it and has 64 bits; on the card it is one instruction.
        """

        def load(array, at):
            return tuple(array[at + i] for i in range(count))

        return load

    @cache
    def storer(count: int):
        """A device function (array, at, words) that stores what `loader` loads."""

        def store(array, at, words):
            for i in range(count):
                array[at + i] = words[i]

        return store

else:
    from numba.extending import intrinsic

    def _address(context, builder, kind, array, at, count):
        data = context.make_array(kind)(context, builder, array).data
        vector = ir.VectorType(ir.IntType(32), count)
        return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())

    @cache
    def loader(count: int):
        """A device function (array, at): `count` words of a flat array of 32-bit words from `at` on, as a tuple.

        count: 1, 2 or 4. `at` is a multiple of it and has 64 bits; on the card it is one instruction.
        """

        @intrinsic
        def load(typing_context, array, at):
            def codegen(context, builder, signature, arguments):
                words = builder.load(_address(context, builder, array, *arguments, count), align=4 * count)
                parts = [builder.extract_element(words, ir.IntType(32)(i)) for i in range(count)]
                return context.make_tuple(builder, signature.return_type, parts)

            return types.UniTuple(array.dtype, count)(array, at), codegen

        return load

    @cache
    def storer(count: int):
        """A device function (array, at, words) that stores what `loader` loads."""

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
def same(count: int):
    """A device function: a tuple of `count` times its argument."""
    copies = {1: lambda a: (a,), 2: lambda a: (a, a), 4: lambda a: (a, a, a, a)}
    return cuda.jit(device=True)(copies[count])


@cache
def each(function, count: int, arguments: int):
    """A device function that applies another one to the words of `arguments` tuples of `count` words, one by one.

    arguments: 1 to 3. Numba has no loop over a tuple that it unrolls.
    """
    if arguments == 1:
        calls = {
            1: lambda a: (function(a[0]),),
            2: lambda a: (function(a[0]), function(a[1])),
            4: lambda a: (function(a[0]), function(a[1]), function(a[2]), function(a[3])),
        }
    elif arguments == 2:
        calls = {
            1: lambda a, b: (function(a[0], b[0]),),
            2: lambda a, b: (function(a[0], b[0]), function(a[1], b[1])),
            4: lambda a, b: (
                function(a[0], b[0]),
                function(a[1], b[1]),
                function(a[2], b[2]),
                function(a[3], b[3]),
            ),
        }
    else:
        calls = {
            1: lambda a, b, c: (function(a[0], b[0], c[0]),),
            2: lambda a, b, c: (function(a[0], b[0], c[0]), function(a[1], b[1], c[1])),
            4: lambda a, b, c: (
                function(a[0], b[0], c[0]),
                function(a[1], b[1], c[1]),
                function(a[2], b[2], c[2]),
                function(a[3], b[3], c[3]),
            ),
        }
    return cuda.jit(device=True)(calls[count])
