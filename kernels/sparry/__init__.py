"""SParry's kernels, which give each source a block."""
