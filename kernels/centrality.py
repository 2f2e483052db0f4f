"""Centralities and other measures of distances; the functions are those of kernels/library/centrality.py."""

from kernels.library.centrality import *  # noqa: F403
from kernels.library.centrality import __doc__  # noqa: F401
