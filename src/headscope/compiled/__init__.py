"""Loops compiled with numba: plain arrays in, plain arrays out. Called by the kernels alone.

They stand apart from the kernels because tests decorate every function of those with checks of
shapes, which compiled functions cannot carry.
"""
