"""The largest values of a head's similarity matrix, found without sorting (compiled).

Given rows of the matrix, one tile after the other. Keeps, as candidates in `Scratch`, every pair
that reaches a floor, and raises the floor when there are more than any pair rule takes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import entry, inner, inner_without_nan
from headscope.kernels.cpu.jit.layout import SAMPLE, Floats, Products, Scratch, Windows, band

_MOST_GUESSES = 40
_FEW = 4


@entry
def gather_largest(values: NDArray[np.floating], k: int, out: NDArray[np.floating]) -> int:
    """Write the k largest values and a few more to `out`, in no order; how many were written.

    Where values are equal, it may be many more.
    """
    return _copy_from(values, reached_by(values, k), out)


@inner
def reached_by(values: NDArray[np.floating], k: int) -> Any:
    """A value that the k largest values reach, and only a few more.

    Found by guessing, and counting to check each guess: compiled code counts eight values at once.
    """
    low, high = _least_and_most(values)
    floor, beyond = low, high
    above_floor, above_beyond = len(values), 1
    enough = k + k // 4 + 16
    for guess in range(_MOST_GUESSES):
        if above_floor <= enough or not floor < beyond:
            break
        # Tails fall off about exponentially; in case they do not, every third guess is the middle.
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

    Halves the range until few values are left in it, then steps down from one to the next. Each
    step compares eight values at once; comparing one by one would need unpredictable branches.
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
    """Move the values that reach the floor to the front; how many there are."""
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
    # Every value is written and most are overwritten: cheaper than an unpredictable branch.
    written = 0
    for value in values:
        out[written] = value
        written += int(value >= floor)
    return written


_LEAST_STEP = 6
"""Least distance between the pairs of a sample when there is a single rule."""


@inner
def sift_rows(
    tile: Floats, first_row: int, window: int, windows: Windows, scratch: Scratch
) -> None:
    """Keep the pairs of a tile that may be among the largest of the window.

    `tile` holds similarities; its first row and column are token `first_row`.
    """
    place: Any = np.int64(0)
    while True:
        place = sift_until_full(tile, place, first_row, scratch.floor[0], window, windows, scratch)
        if place == len(tile):
            return
        keep_largest(most_taken(window, windows), scratch)


@inner
def sift_until_full(
    tile: Floats,
    place: int,
    first_row: int,
    floor: float,
    window: int,
    windows: Windows,
    scratch: Scratch,
) -> Any:
    """Keep what reaches the floor, from row `place` of the tile on, while there is room.

    Returns the first row that was not looked at: the number of rows when all were.
    """
    counted = windows.counted[window, first_row:]
    end = windows.end_counted[window] - first_row
    candidates = scratch.candidates
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    # There must be room for another row.
    room, filled = len(candidates) - len(scratch.line), np.uint64(scratch.filled[0])
    while place < len(tile) and filled <= room:
        if counted[place]:
            row, there = tile[place, place + 1 : end], counted[place + 1 : end]
            reaching: Any = filled
            for k in range(len(row)):
                # All are written and most are overwritten: unpredictable branches, even one per
                # block, are twice as slow.
                columns[reaching] = k
                reaching += np.uint64(row[k] >= floor)
            for index in range(filled, reaching):
                k = columns[index]
                candidates[filled] = row[k]
                rows[filled] = first_row + place
                columns[filled] = first_row + place + 1 + k
                filled += np.uint64(there[k])
        place += 1
    scratch.filled[0] = filled
    return place


@inner
def likely_taken(
    products: Products, place: int, head: int, window: int, windows: Windows, scratch: Scratch
) -> Any:
    """A similarity that probably at least as many pairs reach as any rule takes, but few more."""
    end, counted, sample = windows.end_counted[window], windows.counted[window], scratch.sample
    pairs, size = end * (end - 1) // 2, np.uint64(0)
    step = pairs // SAMPLE
    if len(windows.is_top) == 1:
        # One rule takes few pairs; among several, loose ones take most pairs of a short window.
        step = max(step, _LEAST_STEP)
    if step < 2:
        return -np.inf
    shift = 0
    for first_row in range(0, end, products.band_rows):
        tile = band(products, place, head, first_row)
        width = end - first_row
        for row in range(min(len(tile), width)):
            # Another offset in each row, so that all columns are sampled alike.
            column = row + 1 + shift
            while column < width:
                sample[size] = tile[row, column]
                size += np.uint64(counted[first_row + row] & counted[first_row + column])
                column += step
            shift += 3
            while shift >= step:
                shift -= step
    # The expected number, plus three standard deviations.
    found = sample[:size]
    expected = most_taken(window, windows) * len(found) / pairs
    rank = int(expected + 3 * np.sqrt(expected)) + 1
    return reached_by(found, rank) if rank < len(found) // 2 else -np.inf


@inner
def most_taken(window: int, windows: Windows) -> int:
    """The largest number of pairs that a top rule takes of a window, at least 1."""
    most = 1
    for rule in range(len(windows.is_top)):
        if windows.is_top[rule]:
            most = max(most, windows.taken[window, rule])
    return most


@inner
def keep_largest(wanted: int, scratch: Scratch) -> None:
    """Keep the `wanted` largest candidates; later ones must reach the least of them.

    Where too many are equal, some of those are dropped. The floor is then above what rules take,
    and their pairs are counted in another pass over the rows.
    """
    least = kth_largest(scratch.candidates[: scratch.filled[0]], wanted)
    keep_from(least, scratch)
    if scratch.filled[0] > 2 * wanted:
        _drop_equal(least, wanted, scratch)


@inner
def _drop_equal(least: float, wanted: int, scratch: Scratch) -> None:
    """Keep `wanted` candidates, none of which is below `least`; later ones must exceed it."""
    candidates = scratch.candidates
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    larger = 0
    for index in range(scratch.filled[0]):
        larger += int(candidates[index] > least)
    left, equal = 0, wanted - larger
    for index in range(scratch.filled[0]):
        value = candidates[index]
        candidates[left], rows[left], columns[left] = value, rows[index], columns[index]
        is_larger = value > least
        left += int(is_larger or equal > 0)
        equal -= int(not is_larger)
    scratch.filled[0] = left
    scratch.floor[0] = np.nextafter(candidates.dtype.type(least), candidates.dtype.type(np.inf))


@inner
def keep_from(least: float, scratch: Scratch) -> None:
    """Drop the candidates that do not reach `least`; later ones must reach it."""
    candidates = scratch.candidates
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    left = 0
    for index in range(scratch.filled[0]):
        value = candidates[index]
        candidates[left], rows[left], columns[left] = value, rows[index], columns[index]
        left += int(value >= least)
    scratch.filled[0] = left
    # Where equal candidates were dropped, the floor is above those that were kept.
    scratch.floor[0] = max(scratch.floor[0], least)
