"""The compiler of kernels: the only module that imports numba.cuda and numba's types for kernels.

Other modules import these names from here. A move to another compiler begins here (docs/design.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, int32, typeof, types, uint8, uint32, uint64
from numba import cuda as target
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from ..errors import InputError
from .driver import MISSING

__all__ = ["SIMULATED", "as_dtype", "cuda", "int32", "intrinsic", "typeof", "types", "uint8", "uint32", "uint64"]
SIMULATED = bool(config.ENABLE_CUDASIM)  # type: ignore[attr-defined]  # set by numba at its import


class _Missing:
    """Stand in for numba.cuda without numba-cuda. Kernels can be defined; any other use raises InputError.

    Numba's own old target, which `from numba import cuda` gives then, would launch kernels on a card.
    """

    def jit(self, function=None, **options):
        return (lambda function: function) if function is None else function

    def is_available(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by Python's own modules
            raise AttributeError(name)
        raise InputError(f"a GPU is asked for, but {MISSING}; set NUMBA_ENABLE_CUDASIM=1 to simulate one")


def _provide_row_stack(context_type: Any) -> None:
    """Provide numpy.row_stack while a context of numba-cuda first registers its overloads, in the first compilation.

    NumPy 2.5 removed this alias of vstack, and numba-cuda will not support NumPy 2.5 (its issue 907).
    """
    register = context_type.load_additional_registries

    def register_with_row_stack(context):
        np.row_stack = np.vstack  # type: ignore[attr-defined]
        try:
            register(context)
        finally:
            vars(np).pop("row_stack", None)
        context_type.load_additional_registries = register

    context_type.load_additional_registries = register_with_row_stack


cuda: Any = target
if not SIMULATED and target.implementation != "NVIDIA":
    cuda = _Missing()
elif not SIMULATED and not hasattr(np, "row_stack"):
    for context_type in (target.target.CUDATypingContext, target.target.CUDATargetContext):
        _provide_row_stack(context_type)
