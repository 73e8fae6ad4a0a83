"""The kernels for the CPU: one pass over each similarity matrix while it is in cache."""
