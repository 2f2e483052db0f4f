"""The library: its functions for users, and the choice of a variant. It imports the kernels; they never import it."""
