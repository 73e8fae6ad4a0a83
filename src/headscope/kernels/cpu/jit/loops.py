"""Small loops: arrays filled, copied, added and counted (compiled).

What NumPy writes as `a[:] = b`, numba compiles for seconds, with a check of shapes each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import entry, inlined, inner, inner_in_any_order
from headscope.kernels.cpu.jit.layout import BLOCK, Doubles, Floats, Truths


@inner
def fill(target: NDArray[Any], value: float) -> None:
    """Set all numbers of one axis to a value."""
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
    """The sum of all numbers of one axis, in double precision."""
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
    """Copy row `place` of a tile to `line`, by token; where its first block begins.

    `tile` holds similarities, its first row and column being token `first_row`. Up to the row's own
    token, behind the last, and where a token is not counted, there is `nothing`.
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
    """Put `nothing` where tokens from the first to before the end are not counted."""
    for k in range(first, end):
        if not counted[k]:
            line[k] = nothing


@entry
def add_triangles(matrices: Floats, packed: Doubles) -> None:
    """Add the upper triangles of matrices (m n n), row after row, to `packed` (m n(n+1)/2)."""
    n = matrices.shape[1]
    for which in range(len(matrices)):
        first = 0
        for row in range(n):
            add(matrices[which, row, row:], packed[which, first : first + n - row])
            first += n - row


@entry
def count_by_distance(
    counted: NDArray[np.bool_],
    groups: NDArray[np.int64],
    pairs: NDArray[np.float64],
    together: NDArray[np.float64],
) -> None:
    """Count the pairs of counted tokens at each distance; and of those, in each group, those in it.

    Adds to `pairs` (text, distance) and `together` (group, text, distance). `groups` has shape
    (group, text, token): two tokens belong together where the number is equal and not negative.
    """
    n_windows, n = counted.shape
    for text in range(n_windows):
        there, found = counted[text], pairs[text]
        for i in range(n):
            if not there[i]:
                continue
            for j in range(i + 1, n):
                found[j - i] += there[j]
            for group in range(len(groups)):
                ids, alike = groups[group, text], together[group, text]
                if ids[i] >= 0:
                    for j in range(i + 1, n):
                        alike[j - i] += there[j] & (ids[j] == ids[i])
