"""Some rows of a head's similarity matrix, sifted for the largest (compiled)."""

from typing import Any

import numpy as np

from headscope.compiled.decorators import inlined, inner, inner_without_nan
from headscope.compiled.layout import BLOCK, SAMPLE, Floats, Ints, Scratch, Texts
from headscope.compiled.read_line import read_line
from headscope.compiled.select_largest import gather_largest, reached_by


@inner
def sift_rows(tile: Floats, first_row: int, text: int, texts: Texts, scratch: Scratch) -> None:
    """Keep what may be among the largest of the text, of the rows from `first_row` on.

    `tile` holds similarities, its first column being token `first_row`.
    """
    end, counted, line = texts.end_counted[text], texts.counted[text], scratch.line
    candidates = scratch.candidates
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    # Room for another row must be left.
    room = len(candidates) - len(line)
    floor, filled = scratch.floor[0], scratch.filled[0]
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        begin = read_line(tile, place, first_row, end, counted, texts.has_holes[text], line)
        filled = sift_line(line, begin, i, floor, candidates, rows, columns, filled)
        if filled > room:
            scratch.filled[0] = filled
            _keep_largest(most_taken(text, texts), scratch)
            floor, filled = scratch.floor[0], scratch.filled[0]
    scratch.filled[0] = filled


@inlined
def sift_line(
    line: Floats,
    begin: int,
    i: int,
    floor: float,
    candidates: Floats,
    rows: Ints,
    columns: Ints,
    filled: int,
) -> int:
    """Keep the similarities of token `i` that reach the floor, from the block at `begin` on.

    Returns how many candidates there are now. Called for each row, it is not given the scratch:
    to hand over so many arrays takes as long as to sift.
    """
    for block in range(begin, len(line), BLOCK):
        # Few blocks have any.
        if not _largest_of_block(line, block) >= floor:
            continue
        # All are written and most are written over: cheaper than a branch that nobody foresees.
        for k in range(block, block + BLOCK):
            candidates[filled] = line[k]
            rows[filled] = i
            columns[filled] = k
            filled += int(line[k] >= floor) & int(line[k] > -np.inf)
    return filled


@inner_without_nan
def _largest_of_block(row: Floats, block: int) -> Any:
    largest = row[block]
    for k in range(BLOCK):
        largest = max(largest, row[block + k])
    return largest


@inner
def likely_taken(tile: Floats, text: int, texts: Texts, scratch: Scratch) -> Any:
    """A similarity that probably as many pairs reach as any rule takes, and not many more.

    `tile` holds all similarities of the text.
    """
    end, counted, sample = texts.end_counted[text], texts.counted[text], scratch.sample
    pairs, size = end * (end - 1) // 2, 0
    step = pairs // SAMPLE
    if step < 2:
        return -np.inf
    for i in range(end):
        # Another place in each row, so that columns are met alike.
        for j in range(i + 1 + 3 * i % step, end, step):
            sample[size] = tile[i, j]
            size += int(counted[i] & counted[j])
    # As many as to expect, and three times as many more as chance makes a difference.
    expected = most_taken(text, texts) * size / pairs
    rank = int(expected + 3 * np.sqrt(expected)) + 1
    return reached_by(sample[:size], rank) if rank < size // 2 else -np.inf


@inner
def most_taken(text: int, texts: Texts) -> int:
    """The largest number of pairs that a rule of the kind top takes of a text, 1 at least."""
    most = 1
    for rule in range(len(texts.is_top)):
        if texts.is_top[rule]:
            most = max(most, texts.taken[text, rule])
    return most


@inner
def _keep_largest(wanted: int, scratch: Scratch) -> None:
    """Drop the candidates that no rule can ask for; later ones must reach the least of the kept."""
    kept = gather_largest(scratch.candidates[: scratch.filled[0]], wanted, scratch.best)
    least = scratch.best[0]
    for index in range(kept):
        least = min(least, scratch.best[index])
    keep_from(least, scratch)


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
    scratch.floor[0] = least
