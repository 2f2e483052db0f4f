"""Launching, timing and the card: the only package that touches the internals of numba and of the CUDA driver."""

SIMULATOR = "numba CUDA simulator"  # the name of the device in simulated runs
