"""Centralities and other measures of distances; the functions are those of library/centrality.py."""

from .library.centrality import *  # noqa: F403
from .library.centrality import __doc__  # noqa: F401
