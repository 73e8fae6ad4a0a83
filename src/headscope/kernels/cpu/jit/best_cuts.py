"""Where to cut a sequence, by dynamic programming (compiled).

Given the gain of a cut at each candidate, or the cost of each segment; gives the best cuts. Used by
the segmenter alone.
"""

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import entry_that_makes_arrays

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


@entry_that_makes_arrays
def best_cuts(gains: Doubles, prior: Doubles, places: Ints, shortest: int, longest: int) -> Ints:
    """The cuts with the largest total gain, in order; only -1 when no segmentation is allowed.

    Args:
        gains: What a cut at each candidate adds.
        prior: What a segment of 1, 2, ... candidate steps adds; longer segments get the last value.
        places: The start of the text, every candidate, the end of the text.
        shortest: The least length of a segment, in places.
        longest: The greatest length of a segment, in places.
    """
    n = len(gains)
    steps = len(prior)
    best = np.full(n + 2, -np.inf)
    back = np.full(n + 2, -1, np.int64)
    best[0] = 0.0
    # Segments longer than the prior covers all get the same, so one running maximum is enough.
    far_best, far_place, next_far = -np.inf, -1, 0
    first = 0
    for i in range(1, n + 2):
        while places[i] - places[first] > longest:
            first += 1
        gain = gains[i - 1] if i <= n else 0.0
        while next_far < i - steps and places[i] - places[next_far] >= shortest:
            if best[next_far] > far_best:
                far_best, far_place = best[next_far], next_far
            next_far += 1
        if far_place >= 0 and far_place < first:
            # The maximum has fallen out of reach: look again among those that remain.
            far_best, far_place = -np.inf, -1
            for j in range(first, next_far):
                if best[j] > far_best:
                    far_best, far_place = best[j], j
        if far_place >= 0:
            best[i] = far_best + prior[steps - 1] + gain
            back[i] = far_place
        for j in range(max(first, i - steps), i):
            if places[i] - places[j] < shortest:
                break
            value = best[j] + prior[i - j - 1] + gain
            if value > best[i]:
                best[i] = value
                back[i] = j
    if back[n + 1] < 0:
        return np.full(1, -1, np.int64)
    count = 0
    i = back[n + 1]
    while i > 0:
        count += 1
        i = back[i]
    cuts = np.empty(count, np.int64)
    i = back[n + 1]
    while i > 0:
        count -= 1
        cuts[count] = i - 1
        i = back[i]
    return cuts


@entry_that_makes_arrays
def cheapest_segments(costs: Doubles, most: int) -> tuple[Doubles, Ints]:
    """The least cost of cutting n units into 1 to `most` segments, and where each last one starts.

    Entry [k, j] of the second result is where the last of k + 1 segments of the first j units
    starts.

    Args:
        costs: Entry [i, j] is the cost of the segment of units i to j - 1.
        most: The largest number of segments.
    """
    n = costs.shape[0] - 1
    least = np.full((most, n + 1), np.inf)
    starts = np.zeros((most, n + 1), np.int64)
    for j in range(1, n + 1):
        least[0, j] = costs[0, j]
    for k in range(1, most):
        for j in range(k + 1, n + 1):
            for i in range(k, j):
                value = least[k - 1, i] + costs[i, j]
                if value < least[k, j]:
                    least[k, j] = value
                    starts[k, j] = i
    return least[:, n].copy(), starts
