"""Some rows of a head's similarity matrix, sifted for the largest (compiled)."""

from typing import Any

import numpy as np

from headscope.compiled.decorators import inner, inner_without_nan
from headscope.compiled.layout import BLOCK, Floats, Scratch, Texts, Truths
from headscope.compiled.plain_loops import copy
from headscope.compiled.select_largest import gather_largest


@inner
def sift_rows(tile: Floats, first_row: int, text: int, texts: Texts, scratch: Scratch) -> None:
    """Keep what may be among the largest of the text, of the rows from `first_row` on.

    `tile` holds similarities, its first column being token `first_row`.
    """
    end, counted = texts.end_counted[text], texts.counted[text]
    candidates = scratch.candidates
    # Room for another row must be left.
    room = len(candidates) - len(counted)
    takes_all = not texts.has_holes[text] and len(scratch.candidate_places) == 0
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        row = tile[place, place + 1 : end - first_row]
        if takes_all and scratch.floor[0] == -np.inf:
            copy(row, candidates[scratch.filled[0] :])
            scratch.filled[0] += len(row)
        else:
            _sift(row, counted[i + 1 : end], i * len(counted) + i + 1, scratch)
        if scratch.filled[0] > room:
            _keep_largest(most_taken(text, texts), scratch)


@inner
def _sift(row: Floats, counted: Truths, first_place: int, scratch: Scratch) -> None:
    """Keep the numbers of a row that reach the floor."""
    floor, filled = scratch.floor[0], scratch.filled[0]
    candidates, places = scratch.candidates, scratch.candidate_places
    for block in range(0, len(row), BLOCK):
        last = min(block + BLOCK, len(row))
        # Few blocks have any.
        if block + BLOCK <= len(row) and not _largest_of_block(row, block) >= floor:
            continue
        for k in range(block, last):
            if row[k] >= floor and counted[k]:
                candidates[filled] = row[k]
                if len(places) > 0:
                    places[filled] = first_place + k
                filled += 1
    scratch.filled[0] = filled


@inner_without_nan
def _largest_of_block(row: Floats, block: int) -> Any:
    largest = row[block]
    for k in range(BLOCK):
        largest = max(largest, row[block + k])
    return largest


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
    left = 0
    for index in range(scratch.filled[0]):
        if scratch.candidates[index] >= least:
            scratch.candidates[left] = scratch.candidates[index]
            if len(scratch.candidate_places) > 0:
                scratch.candidate_places[left] = scratch.candidate_places[index]
            left += 1
    scratch.filled[0] = left
    scratch.floor[0] = least
