"""A head of a layer over its texts, matrix by matrix while each is in cache (compiled).

Nothing here starts threads: callers that have several give each its own heads, or its own sums.
"""

from typing import Any

import numpy as np

from headscope.compiled.count_pairs import count_candidates, count_rows, counts_rows
from headscope.compiled.decorators import entry, inlined
from headscope.compiled.finish_text import begin_text, finish_counts, finish_sums
from headscope.compiled.layout import Floats, Ints, Scratch, Task, Texts
from headscope.compiled.products import Products, band
from headscope.compiled.sift_rows import keep_largest, likely_taken, most_taken, sift_rows
from headscope.compiled.sum_rows import sum_around_boundaries, sum_rows


@entry
def measure_texts(products: Products, first_text: int, task: Task) -> None:
    """Measure the texts from `first_text` on, whose products are given."""
    texts, scratch = task.texts, task.scratch
    for head in range(products.heads):
        for place in range(products.texts):
            text = first_text + place
            begin_text(text, head, task)
            scratch.floor[0] = likely_taken(products, place, head, text, texts, scratch)
            for row in range(0, products.tokens, products.band_rows):
                tile = band(products, place, head, row)
                sum_rows(tile, row, text, head, task)
                sum_around_boundaries(tile, row, text, head, texts, task.outputs)
                sift_rows(tile, row, text, texts, scratch)
            if _floor_was_too_high(text, texts, scratch):
                scratch.floor[0], scratch.filled[0] = -np.inf, 0
                for row in range(0, products.tokens, products.band_rows):
                    sift_rows(band(products, place, head, row), row, text, texts, scratch)
            _finish_first_pass(text, head, task)
            if counts_rows(scratch):
                for row in range(0, products.tokens, products.band_rows):
                    count_rows(band(products, place, head, row), row, text, head, task)
                finish_counts(text, head, task)


@entry
def sum_tile(tile: Floats, first_row: int, guess: float, text: int, head: int, task: Task) -> bool:
    """For long texts, first: sum the rows from `first_row` on, in order, to the text's end.

    `guess` is a similarity that, probably, as many pairs reach as any rule takes. False if not: the
    rows must be sifted again.
    """
    texts, scratch = task.texts, task.scratch
    if first_row == 0:
        begin_text(text, head, task)
        scratch.floor[0] = guess
    sum_rows(tile, first_row, text, head, task)
    sift_rows(tile, first_row, text, texts, scratch)
    if first_row + len(tile) < texts.end_counted[text]:
        return True
    if _floor_was_too_high(text, texts, scratch):
        return False
    _finish_first_pass(text, head, task)
    return True


@entry
def sift_tile(tile: Floats, first_row: int, text: int, head: int, task: Task) -> None:
    """For long texts, after a wrong guess: sift the rows from `first_row` on, in order."""
    texts, scratch = task.texts, task.scratch
    if first_row == 0:
        scratch.floor[0], scratch.filled[0] = -np.inf, 0
    sift_rows(tile, first_row, text, texts, scratch)
    if first_row + len(tile) >= texts.end_counted[text]:
        _finish_first_pass(text, head, task)


@entry
def count_tile(tile: Floats, first_row: int, text: int, head: int, task: Task) -> None:
    """For long texts, second: count pairs in the rows from `first_row` on, in order.

    Only where `counts_rows` says that there are rules that need it.
    """
    count_rows(tile, first_row, text, head, task)
    if first_row + len(tile) >= task.texts.end_counted[text]:
        finish_counts(text, head, task)


@entry
def begin_ordered(guess: float, text: int, head: int, task: Task) -> None:
    """For long texts of which no sums are wanted, their tokens in any order: before the tiles.

    `guess` is a similarity that, probably, as many pairs reach as any rule takes.
    """
    begin_text(text, head, task)
    task.scratch.floor[0] = guess


@entry
def sift_ordered(tile: Floats, first_row: int, text: int, ordered: Texts, scratch: Scratch) -> Any:
    """Sift the rows from `first_row` on; returns what a pair must reach from now on.

    `ordered` says that all tokens are counted, the first being those of the text in their order.
    """
    sift_rows(tile, first_row, text, ordered, scratch)
    wanted = most_taken(text, ordered)
    if scratch.filled[0] > 2 * wanted:
        keep_largest(wanted, scratch)
    return scratch.floor[0]


@entry
def finish_ordered(order: Ints, text: int, head: int, task: Task) -> Any:
    """Count the pairs of all tiles, the token at each place being given by `order`.

    False if that cannot be: `guess` was too high, or more pairs are equal than there is room for.
    """
    scratch = task.scratch
    if _floor_was_too_high(text, task.texts, scratch):
        return False
    wanted = most_taken(text, task.texts)
    if scratch.filled[0] > wanted:
        keep_largest(wanted, scratch)
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    for index in range(scratch.filled[0]):
        one, other = order[rows[index]], order[columns[index]]
        rows[index], columns[index] = min(one, other), max(one, other)
    _finish_first_pass(text, head, task)
    return not counts_rows(scratch)


@inlined
def _floor_was_too_high(text: int, texts: Texts, scratch: Scratch) -> Any:
    return scratch.floor[0] > -np.inf and scratch.filled[0] < most_taken(text, texts)


@inlined
def _finish_first_pass(text: int, head: int, task: Task) -> None:
    """Count what is known already, and be done if that is all."""
    finish_sums(text, head, task)
    count_candidates(text, head, task)
    if not counts_rows(task.scratch):
        finish_counts(text, head, task)
