"""The project's own kernels, and a benchmark of the card's peak."""
