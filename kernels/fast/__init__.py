"""This project's own kernels, and the card's peak."""
