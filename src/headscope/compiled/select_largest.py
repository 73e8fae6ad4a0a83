"""The k-th largest of many values, without sorting them (compiled)."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

_BINS = 256


@njit(cache=True, nogil=True, error_model="numpy")
def largest(values: NDArray[np.floating], k: int, out: NDArray[np.floating]) -> int:
    """How many values were written to `out`, in ascending order: the k largest, and maybe more.

    So `out[written - m]` is the m-th largest for every m up to k. `values` is used up.
    """
    written = gather_largest(values, k, out)
    out[:written].sort()
    return written


@njit(cache=True, nogil=True, error_model="numpy")
def gather_largest(values: NDArray[np.floating], k: int, out: NDArray[np.floating]) -> int:
    """How many values were written to `out`, in no order: the k largest, and a few more.

    Histograms narrow down the range in which the k-th lies, whatever the distribution. `values` is
    used up as work space.
    """
    taken = 0
    left = len(values)
    while True:
        wanted = k - taken
        if left <= wanted + wanted // 4 + 16:
            break
        low, high = values[0], values[0]
        for index in range(left):
            low = min(low, values[index])
            high = max(high, values[index])
        if not low < high:
            # All that is left is equal: any of them will do.
            left = wanted
            break
        width = (high - low) / _BINS
        scale = 1 / width if width > 0 else 0.0
        counts = np.zeros(_BINS, dtype=np.int64)
        for index in range(left):
            counts[min(_BINS - 1, int((values[index] - low) * scale))] += 1
        above = 0
        chosen = _BINS - 1
        while above + counts[chosen] < wanted:
            above += counts[chosen]
            chosen -= 1
        if counts[chosen] == left:
            # The values differ by less than the histogram can tell.
            break
        kept = 0
        for index in range(left):
            place = min(_BINS - 1, int((values[index] - low) * scale))
            if place > chosen:
                out[taken] = values[index]
                taken += 1
            elif place == chosen:
                values[kept] = values[index]
                kept += 1
        left = kept
    for index in range(left):
        out[taken + index] = values[index]
    return taken + left
