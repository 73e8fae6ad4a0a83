"""The largest of many values, without sorting them (compiled)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.compiled.decorators import entry, inner, inner_without_nan

_MOST_GUESSES = 40
_FEW = 4


@entry
def gather_largest(values: NDArray[np.floating], k: int, out: NDArray[np.floating]) -> int:
    """How many values were written to `out`, in no order: the k largest, and a few more.

    More than a few more come out where values are equal.
    """
    return _copy_from(values, reached_by(values, k), out)


@inner
def reached_by(values: NDArray[np.floating], k: int) -> Any:
    """A value that the k largest reach, and a few more.

    Guesses at it, and checks each guess by counting: the compiler counts eight values at once.
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
    return floor


@entry
def kth_largest(values: NDArray[np.floating], k: int) -> Any:
    """The k-th largest of some values.

    Halves the range until few values are left in it, then goes down from one to the next: each time
    the compiler looks at eight values at once, where comparing one by one would take branches that
    nobody foresees.
    """
    floor, beyond = _least_and_most(values)
    if k == len(values):
        return floor
    above_floor, above_beyond = len(values), _count_from(values, beyond)
    half: Any = np.float32(0.5)  # keeps single precision single
    while above_beyond < k and above_floor > above_beyond + _FEW:
        middle = half * floor + half * beyond
        if not floor < middle < beyond:
            return floor
        above = _count_from(values, middle)
        if above >= k:
            floor, above_floor = middle, above
        else:
            beyond, above_beyond = middle, above
    while above_beyond < k:
        beyond = _largest_below(values, beyond, floor)
        above_beyond = _count_from(values, beyond)
    return beyond


@entry
def drop_below(values: NDArray[np.floating], floor: float) -> int:
    """How many values reach the floor: they are the first ones now."""
    return _copy_from(values, floor, values)


@inner_without_nan
def _least_and_most(values: NDArray[np.floating]) -> tuple[float, float]:
    low, high = values[0], values[0]
    for index in range(len(values)):
        low = min(low, values[index])
        high = max(high, values[index])
    return low, high


@inner_without_nan
def _largest_below(values: NDArray[np.floating], beyond: float, least: float) -> Any:
    """The largest value below `beyond`; `least`, if none is larger."""
    largest = least
    for index in range(len(values)):
        largest = max(largest, values[index] if values[index] < beyond else least)
    return largest


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
