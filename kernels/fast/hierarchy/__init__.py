"""Shortest paths in a contraction hierarchy: prepared once for a set of arcs, customized once for a set of weights.

elimination     the order and the elimination tree, which depend on the arcs only
fragments       the tree cut into fragments, as the kernels read it
customize       weights of the hierarchy's arcs
reweighting     new weights
one_source      distances from one source
many_sources    distances from many sources, as a matrix or reduced to a few numbers per source
all_pairs       searches from many sources in pieces that fit in the card's memory
targets         distances from many sources to some targets
nearest         for every vertex, the nearest of some facilities
within          for each of many sources, the vertices within a distance, or the nearest ones
variants        the variants of the registry

Order, tree and customization are those of customizable contraction hierarchies (J. Dibbelt, B. Strasser, D. Wagner,
2016). The searches are PHAST (D. Delling, A. V. Goldberg, A. Nowatzyk, R. F. Werneck, 2011) and, to some targets,
RPHAST (Delling, Goldberg, Werneck, 2011). docs/kernels.md (section Contraction hierarchies) says what is added.
"""
