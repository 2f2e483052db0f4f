"""The library: its functions for users, and the choice of a variant. It imports the kernels, never the other way."""
