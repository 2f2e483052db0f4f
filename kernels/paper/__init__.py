"""The paper's algorithms: Bodra's kernels and serial programs."""
