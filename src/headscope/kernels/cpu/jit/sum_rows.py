"""Rows of a head's similarity matrix added to all sums; and small loops over arrays (compiled).

Given a tile of rows; adds to the sums by position, by distance and around boundaries. Loops over a
row are short, without branches, and over multiples of 16 numbers, so that compiled code handles
eight at once with none left over. (numba takes seconds to compile NumPy's `a[:] = b`.)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import entry, inlined, inner, inner_in_any_order
from headscope.kernels.cpu.jit.layout import (
    BLOCK,
    Doubles,
    Floats,
    Ints,
    Outputs,
    Task,
    Truths,
    Windows,
)


@inner
def sum_rows(tile: Floats, first_row: int, window: int, head: int, task: Task) -> None:
    """Add the rows of a tile to all sums.

    `tile` holds similarities; its first row and column are token `first_row`.
    """
    windows, layer, outputs, scratch = task
    end, counted, has_holes = (
        windows.end_counted[window],
        windows.counted[window],
        windows.has_holes[window],
    )
    sentences, scales = scratch.sentences, scratch.scales
    own_sums, scaled_sums = outputs.own_sums[head], outputs.scaled_sums[head]
    line, profile = scratch.line, scratch.part_of_profile
    width = len(line)
    if not (layer.sum_own or layer.sum_scaled or layer.profiles):
        return
    own_alone = not (layer.sum_scaled or layer.profiles)
    if first_row == 0:
        scratch.centre[0] = _any_similarity(tile, end, counted)
    centre = scratch.centre[0]
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        if own_alone and not has_holes:
            add(tile[place, place + 1 : end - first_row], own_sums[i, i + 1 :])
            continue
        begin = read_line(tile, place, first_row, end, counted, has_holes, line, 0.0)
        row = line[begin:]
        # Distance 0 is at BLOCK, and what is before the row's own token adds zeros below it.
        near, far = begin - i + BLOCK, width - i + BLOCK
        # One loop per sum: with several in one loop, checking that arrays do not overlap takes
        # longer than these short loops.
        if layer.sum_own:
            add(row, own_sums[i, begin:])
        if layer.sum_scaled:
            _add_scaled(row, scales[begin:], scales[i], scaled_sums[i, begin:])
        if not layer.profiles:
            continue
        _add_positive(row, profile[2, near:far])
        _subtract(centre, line[i + 1 : end])
        if has_holes:
            clear_holes(line, i + 1, end, counted, 0.0)
        add(row, profile[0, near:far])
        if sentences[i] >= 0:
            _add_within(row, sentences[begin:], sentences[i], profile[1, near:far])
        scratch.squares[0] += _squares(row)
    for part in range(len(profile)):
        add(profile[part], scratch.profile[part])
        fill(profile[part], 0)


@inner
def _any_similarity(tile: Floats, end: int, counted: Truths) -> Any:
    """The similarity of the first two counted tokens; 0 where there are fewer than two.

    Where a head writes nearly the same for all tokens, similarities differ only in their last
    digits: sums of similarities minus this one keep those digits.
    """
    first = -1
    for place in range(end):
        if counted[place] and first >= 0:
            return tile[first, place] if first < len(tile) else 0.0
        if counted[place]:
            first = place
    return 0.0


@inner
def _subtract(number: float, row: Floats) -> None:
    for k in range(len(row)):
        row[k] -= number


@inner
def _add_scaled(row: Floats, scales: Floats, own: float, total: Floats) -> None:
    for k in range(len(row)):
        total[k] += row[k] * own * scales[k]


@inner_in_any_order
def _squares(row: Floats) -> Any:
    summed = 0.0
    for k in range(len(row)):
        wide = np.float64(row[k])
        summed += wide * wide
    return summed


@inner
def _add_positive(row: Floats, total: Floats) -> None:
    for k in range(len(row)):
        total[k] += max(row[k], np.float32(0))


@inner
def _add_within(row: Floats, sentences: Ints, sentence: int, total: Floats) -> None:
    for k in range(len(row)):
        total[k] += row[k] if sentences[k] == sentence else np.float32(0)


@inner
def sum_around_boundaries(
    tile: Floats, first_row: int, window: int, head: int, windows: Windows, outputs: Outputs
) -> None:
    """Add the rows of `tile` to the sums around sentence boundaries."""
    sums = outputs.aligned_sums[head]
    half = sums.shape[0] // 2
    counted, end, starts = (
        windows.counted[window],
        windows.end_counted[window],
        windows.starts[window],
    )
    last_row = min(first_row + tile.shape[0], end)
    for start in range(1, end):
        if not starts[start]:
            continue
        last = min(end, start + half)
        for i in range(max(first_row, start - half), min(last_row, last)):
            if counted[i]:
                target = sums[i - start + half, i + 1 - start + half :]
                row = tile[i - first_row, i + 1 - first_row : last - first_row]
                _add_counted(row, target, counted[i + 1 : last])


@inner
def _add_counted(row: Floats, target: Doubles, counted: Truths) -> None:
    for k in range(len(row)):
        target[k] += np.float64(row[k]) if counted[k] else 0.0


@inner
def fill(target: NDArray[Any], value: float) -> None:
    """Set all numbers of a one-dimensional array to a value."""
    for k in range(len(target)):
        target[k] = value


@inner
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy numbers to the front of `target`."""
    for k in range(len(source)):
        target[k] = source[k]


@inner
def add(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Add numbers to those at the front of `target`."""
    for k in range(len(source)):
        target[k] += source[k]


@inner_in_any_order
def total(values: NDArray[Any]) -> Any:
    """The sum of a one-dimensional array, in double precision."""
    summed = 0.0
    for k in range(len(values)):
        summed += np.float64(values[k])
    return summed


@inlined
def read_line(
    tile: Floats,
    place: int,
    first_row: int,
    end: int,
    counted: Truths,
    has_holes: bool,
    line: Floats,
    nothing: float = -np.inf,
) -> int:
    """Copy row `place` of a tile to `line`, by token; where the first block that it fills begins.

    `tile` holds similarities; its first row and column are token `first_row`. Up to the row's own
    token, after the last one, and where a token is not counted, `line` holds `nothing`.
    """
    i = first_row + place
    begin = (i + 1) // BLOCK * BLOCK
    fill(line[begin : i + 1], nothing)
    copy(tile[place, place + 1 : end - first_row], line[i + 1 :])
    fill(line[end:], nothing)
    if has_holes:
        clear_holes(line, i + 1, end, counted, nothing)
    return begin


@inner
def clear_holes(line: Floats, first: int, end: int, counted: Truths, nothing: float) -> None:
    """Write `nothing` for the tokens from `first` to before `end` that are not counted."""
    for k in range(first, end):
        if not counted[k]:
            line[k] = nothing


@entry
def add_triangles(matrices: Floats, packed: Doubles) -> None:
    """Add the upper triangles of some matrices, row after row, to packed ones.

    Args:
        matrices: Of shape (m n n).
        packed: Of shape (m n(n+1)/2).
    """
    n = matrices.shape[1]
    for which in range(len(matrices)):
        first = 0
        for row in range(n):
            add(matrices[which, row, row:], packed[which, first : first + n - row])
            first += n - row
