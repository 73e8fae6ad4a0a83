"""The definitions: pure functions on tensors. No files, no models, no state.

`vectorised` is the readable form of all statistics, in torch, on any device; `cpu.fused` gives the
same numbers in one pass over each matrix.
"""
