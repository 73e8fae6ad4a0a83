"""The attention that each token receives, and that crosses each gap, in one pass (compiled).

Given attention maps; fills two arrays per window and head. Used by the segmenter alone.
"""

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import entry_that_makes_arrays

Floats = NDArray[np.floating]


@entry_that_makes_arrays
def mass_and_cut(attention: Floats, counted: NDArray[np.bool_], mass: Floats, cut: Floats) -> None:
    """Fill `mass` and `cut` (window, head, token) from attention maps (window, head, query, key).

    When the gap moves past a token, attention between that token and later ones starts to cross it,
    and attention between that token and earlier ones stops crossing it.
    """
    windows, heads, n, _ = attention.shape
    for place in range(windows * heads):
        window, head = place // heads, place % heads
        change = np.zeros(n, attention.dtype)
        received = np.zeros(n, attention.dtype)
        for i in range(n):
            if not counted[window, i]:
                continue
            to_earlier, to_later = 0.0, 0.0
            for j in range(i):
                if counted[window, j]:
                    weight = attention[window, head, i, j]
                    to_earlier += weight
                    received[j] += weight
                    change[j] += weight
            received[i] += attention[window, head, i, i]
            for j in range(i + 1, n):
                if counted[window, j]:
                    weight = attention[window, head, i, j]
                    to_later += weight
                    received[j] += weight
                    change[j] -= weight
            change[i] += to_later - to_earlier
        crossing = 0.0
        for t in range(n):
            mass[window, head, t] = received[t]
            cut[window, head, t] = crossing
            crossing += change[t]
