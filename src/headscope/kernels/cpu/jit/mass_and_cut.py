"""The attention that tokens receive, and that crosses each gap, in one pass (compiled)."""

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import entry_that_makes_arrays

Floats = NDArray[np.floating]


@entry_that_makes_arrays
def mass_and_cut(attention: Floats, counted: NDArray[np.bool_], mass: Floats, cut: Floats) -> None:
    """Fill `mass` and `cut` (text, head, token) from attention maps (text, head, query, key).

    Moving a gap over one token, the attention between that token and all later ones begins to
    cross it, and that between it and all earlier ones no longer does.
    """
    texts, heads, n, _ = attention.shape
    for place in range(texts * heads):
        text, head = place // heads, place % heads
        change = np.zeros(n, attention.dtype)
        received = np.zeros(n, attention.dtype)
        for i in range(n):
            if not counted[text, i]:
                continue
            to_earlier, to_later = 0.0, 0.0
            for j in range(i):
                if counted[text, j]:
                    weight = attention[text, head, i, j]
                    to_earlier += weight
                    received[j] += weight
                    change[j] += weight
            received[i] += attention[text, head, i, i]
            for j in range(i + 1, n):
                if counted[text, j]:
                    weight = attention[text, head, i, j]
                    to_later += weight
                    received[j] += weight
                    change[j] -= weight
            change[i] += to_later - to_earlier
        crossing = 0.0
        for t in range(n):
            mass[text, head, t] = received[t]
            cut[text, head, t] = crossing
            crossing += change[t]
