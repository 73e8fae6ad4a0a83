"""Some rows of a head's similarity matrix, summed (compiled).

Loops over a row are small, free of branches and of lengths that are multiples of 16: the compiler
then works on eight numbers at once, and nothing is left over for the end.
"""

from typing import Any

import numpy as np

from headscope.kernels.cpu.jit.decorators import inner, inner_in_any_order
from headscope.kernels.cpu.jit.layout import (
    BLOCK,
    Doubles,
    Floats,
    Ints,
    Outputs,
    Task,
    Texts,
    Truths,
)
from headscope.kernels.cpu.jit.loops import add, clear_holes, fill, read_line


@inner
def sum_rows(tile: Floats, first_row: int, text: int, head: int, task: Task) -> None:
    """Add the rows from `first_row` on to all sums.

    `tile` holds similarities, its first column being token `first_row`.
    """
    texts, layer, outputs, scratch = task
    end, counted, has_holes = texts.end_counted[text], texts.counted[text], texts.has_holes[text]
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
        # Distance 0 is at BLOCK: what lies before the row's own token adds zeros in front of it.
        near, far = begin - i + BLOCK, width - i + BLOCK
        # One loop for each sum: with more in one, the compiler's checks that arrays do not overlap
        # take longer than these short loops.
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
    """That of the first two tokens that are counted; 0 where there are no two.

    Where a head writes nearly the same for all tokens, similarities differ in their last digits:
    sums of what is left without this one keep those digits.
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
    tile: Floats, first_row: int, text: int, head: int, texts: Texts, outputs: Outputs
) -> None:
    """Add the rows of `tile` to the sums around sentence boundaries."""
    sums = outputs.aligned_sums[head]
    half = sums.shape[0] // 2
    counted, end, starts = texts.counted[text], texts.end_counted[text], texts.starts[text]
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
