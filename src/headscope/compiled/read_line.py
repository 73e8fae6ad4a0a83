"""A row of a similarity matrix in whole blocks (compiled)."""

import numpy as np

from headscope.compiled.decorators import inlined, inner
from headscope.compiled.layout import BLOCK, Floats, Truths
from headscope.compiled.plain_loops import copy, fill


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
