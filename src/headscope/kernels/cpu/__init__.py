"""The kernels as one pass over each matrix while it is in cache: the form for the CPU."""
