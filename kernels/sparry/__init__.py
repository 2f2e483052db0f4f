"""SParry's kernels, which give each source a block.

SParry (https://github.com/qriosa/SParry) is a Python tool for shortest paths with CUDA kernels. These follow the
pseudocode of its edge, Dijkstra and delta-stepping searches; docs/errata.md says where that is wrong.
"""
