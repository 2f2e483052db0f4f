"""Shortest paths in a contraction hierarchy: prepared once for a set of arcs, customized once for a set of weights.

elimination     the order and the tree: what depends on the arcs alone
fragments           how the tree is cut for the kernels
customize       weights for the arcs of the hierarchy
one_source      distances from one source
many_sources    distances from many sources, as a matrix or reduced to a few numbers a source
variants        the variants of the registry, which check and time them
"""
