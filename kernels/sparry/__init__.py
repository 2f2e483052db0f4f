"""SParry's kernels: one block of threads per source.

SParry (https://github.com/qriosa/SParry) is a Python tool for shortest paths with CUDA kernels. The kernels here follow
the pseudocode of its edge, Dijkstra and delta-stepping searches. docs/errata.md lists errors in that pseudocode.
"""
