"""Some rows of a head's similarity matrix, sifted for the largest (compiled)."""

from typing import Any

import numpy as np

from headscope.compiled.decorators import inner
from headscope.compiled.layout import SAMPLE, Floats, Scratch, Texts
from headscope.compiled.products import Products, band
from headscope.compiled.select_largest import kth_largest, reached_by

_LEAST_STEP = 6
"""Between the pairs of a sample, where one rule alone is asked for."""


@inner
def sift_rows(tile: Floats, first_row: int, text: int, texts: Texts, scratch: Scratch) -> None:
    """Keep what may be among the largest of the text, of the rows from `first_row` on.

    `tile` holds similarities, its first column being token `first_row`.
    """
    place: Any = np.int64(0)
    while True:
        place = sift_until_full(tile, place, first_row, scratch.floor[0], text, texts, scratch)
        if place == len(tile):
            return
        keep_largest(most_taken(text, texts), scratch)


@inner
def sift_until_full(
    tile: Floats,
    place: int,
    first_row: int,
    floor: float,
    text: int,
    texts: Texts,
    scratch: Scratch,
) -> Any:
    """Keep what reaches the floor, from row `place` of the tile on, while there is room.

    Returns the first row that was not looked at; after the last one, their number.
    """
    counted = texts.counted[text, first_row:]
    end = texts.end_counted[text] - first_row
    candidates = scratch.candidates
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    # Room for another row must be left.
    room, filled = len(candidates) - len(scratch.line), np.uint64(scratch.filled[0])
    while place < len(tile) and filled <= room:
        if counted[place]:
            row, there = tile[place, place + 1 : end], counted[place + 1 : end]
            reaching: Any = filled
            for k in range(len(row)):
                # All are written and most are written over: branches that nobody foresees, be it
                # one for a block of numbers, take twice as long.
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
    products: Products, place: int, head: int, text: int, texts: Texts, scratch: Scratch
) -> Any:
    """A similarity that probably as many pairs reach as any rule takes, and not many more."""
    end, counted, sample = texts.end_counted[text], texts.counted[text], scratch.sample
    pairs, size = end * (end - 1) // 2, np.uint64(0)
    step = pairs // SAMPLE
    if len(texts.is_top) == 1:
        # One rule takes few pairs; of several, loose ones want most pairs of a short text anyway.
        step = max(step, _LEAST_STEP)
    if step < 2:
        return -np.inf
    shift = 0
    for first_row in range(0, end, products.band_rows):
        tile = band(products, place, head, first_row)
        width = end - first_row
        for row in range(min(len(tile), width)):
            # Another place in each row, so that columns are met alike.
            column = row + 1 + shift
            while column < width:
                sample[size] = tile[row, column]
                size += np.uint64(counted[first_row + row] & counted[first_row + column])
                column += step
            shift += 3
            while shift >= step:
                shift -= step
    # As many as to expect, and three times as many more as chance makes a difference.
    found = sample[:size]
    expected = most_taken(text, texts) * len(found) / pairs
    rank = int(expected + 3 * np.sqrt(expected)) + 1
    return reached_by(found, rank) if rank < len(found) // 2 else -np.inf


@inner
def most_taken(text: int, texts: Texts) -> int:
    """The largest number of pairs that a rule of the kind top takes of a text, 1 at least."""
    most = 1
    for rule in range(len(texts.is_top)):
        if texts.is_top[rule]:
            most = max(most, texts.taken[text, rule])
    return most


@inner
def keep_largest(wanted: int, scratch: Scratch) -> None:
    """Drop the candidates that no rule can ask for; later ones must reach the least of the kept.

    Where too many are equal, drop some of these: then the floor lies above what rules take, and
    their pairs are counted in another pass over the rows.
    """
    least = kth_largest(scratch.candidates[: scratch.filled[0]], wanted)
    keep_from(least, scratch)
    if scratch.filled[0] > 2 * wanted:
        _drop_equal(least, wanted, scratch)


@inner
def _drop_equal(least: float, wanted: int, scratch: Scratch) -> None:
    """Keep so many candidates, none of which is below `least`; later ones must exceed it."""
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
    """Drop the candidates that do not reach `least`; later ones must."""
    candidates = scratch.candidates
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    left = 0
    for index in range(scratch.filled[0]):
        value = candidates[index]
        candidates[left], rows[left], columns[left] = value, rows[index], columns[index]
        left += int(value >= least)
    scratch.filled[0] = left
    # Where equal ones were dropped, the floor lies above those that were kept.
    scratch.floor[0] = max(scratch.floor[0], least)
