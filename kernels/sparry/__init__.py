"""SParry's kernels, which give each source a block.

SParry is a Python tool for shortest paths with CUDA kernels (LCX666/SParry on GitHub). These follow the pseudocode of
its edge, Dijkstra and delta-stepping searches; docs/errata.md says where that is wrong.
"""
