"""The largest of many values, without sorting them (compiled)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.compiled.decorators import entry, inner, inner_without_nan

_MOST_GUESSES = 40


@entry
def gather_largest(values: NDArray[np.floating], k: int, out: NDArray[np.floating]) -> int:
    """How many values were written to `out`, in no order: the k largest, and a few more.

    Guesses at a value that the k-th largest does not fall below, each checked by counting: the
    compiler counts eight values at once. More than a few more come out where values are equal.
    """
    low, high = _least_and_most(values)
    floor, beyond = low, high
    above_floor, above_beyond = len(values), 1
    enough = k + k // 4 + 16
    for guess in range(_MOST_GUESSES):
        if above_floor <= enough or not floor < beyond:
            break
        # Tails fall about exponentially; every third guess halves the range, whatever they do.
        share = 0.5
        if guess % 3 != 2:
            share = np.log(above_floor / (1.1 * k + 4)) / np.log(above_floor / above_beyond)
        between: Any = np.float32(floor + min(max(share, 0.02), 0.98) * (beyond - floor))
        if not floor < between < beyond:
            break
        above = _count_from(values, between)
        if above >= k:
            floor, above_floor = between, above
        else:
            beyond, above_beyond = between, max(above, 1)
    return _copy_from(values, floor, out)


@entry
def put_largest_first(values: NDArray[np.floating], k: int) -> Any:
    """The k-th largest value; the k largest are now the first k."""
    first, last = 0, len(values) - 1
    while first < last:
        pivot = values[(first + last) // 2]
        left, right = first, last
        while left <= right:
            while values[left] > pivot:
                left += 1
            while values[right] < pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if k - 1 <= right:
            last = right
        elif k - 1 >= left:
            first = left
        else:
            break
    return values[k - 1]


@inner_without_nan
def _least_and_most(values: NDArray[np.floating]) -> tuple[float, float]:
    low, high = values[0], values[0]
    for index in range(len(values)):
        low = min(low, values[index])
        high = max(high, values[index])
    return low, high


@inner
def _count_from(values: NDArray[np.floating], floor: float) -> Any:
    count: Any = np.int32(0)
    for index in range(len(values)):
        count += np.int32(1) if values[index] >= floor else np.int32(0)
    return count


@inner
def _copy_from(values: NDArray[np.floating], floor: float, out: NDArray[np.floating]) -> int:
    # Every value is written and most are written over: cheaper than a branch that nobody foresees.
    written = 0
    for value in values:
        out[written] = value
        written += int(value >= floor)
    return written
