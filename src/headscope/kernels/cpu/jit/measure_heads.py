"""A layer over its windows: token by token, then matrix by matrix in cache (compiled)."""

from typing import Any

import numpy as np

from headscope.kernels.cpu.jit.count_pairs import count_candidates, count_rows, counts_rows
from headscope.kernels.cpu.jit.decorators import entry, inlined, inner, inner_in_any_order
from headscope.kernels.cpu.jit.finish_window import begin_window, finish_counts, finish_sums
from headscope.kernels.cpu.jit.layout import (
    Floats,
    Ints,
    Layer,
    Outputs,
    Scratch,
    Task,
    Texts,
    Tokens,
)
from headscope.kernels.cpu.jit.products import Products, band
from headscope.kernels.cpu.jit.sift_rows import keep_largest, likely_taken, most_taken, sift_rows
from headscope.kernels.cpu.jit.sum_rows import sum_around_boundaries, sum_rows

_SHORTEST = 1e-12
"""Vectors are taken to be so long at least where something is divided by their length."""


@entry
def measure_tokens(
    vectors: Floats, mass: Floats, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    """Fill what `layer` says of tokens, and the sums over them.

    `vectors` (b n h d) are what the heads wrote, `mass` (b h k) is the attention of each key.
    """
    n_windows, heads, _ = mass.shape
    for text in range(n_windows):
        for place in range(vectors.shape[1]):
            for head in range(heads):
                length = np.sqrt(_squares(vectors[text, place, head]))
                _keep_length(length, text, head, place, tokens, layer, outputs)
        for head in range(heads):
            _measure_mass(mass[text, head], text, head, tokens, layer, outputs)


@inner_in_any_order
def _squares(row: Floats) -> Any:
    summed = row.dtype.type(0)
    for k in range(len(row)):
        summed += row[k] * row[k]
    return summed


@inner
def _keep_length(
    length: float, text: int, head: int, place: int, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    kind: Any = layer.scales.dtype.type
    scale = length if layer.scale_by_length else kind(1) / max(length, kind(_SHORTEST))
    layer.scales[text, head, place] = scale
    if tokens.counted[text, place]:
        outputs.lengths[text, head, 0] += length
        if tokens.separators[text, place]:
            outputs.lengths[text, head, 1] += length


@inner
def _measure_mass(
    mass: Floats, text: int, head: int, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    """The mass of some kinds of keys, and that of each with the largest of the text at 1."""
    separators, specials = tokens.key_separators[text], tokens.key_specials[text]
    sums = outputs.attention[text, head]
    if len(mass) > 0:
        sums[2] = mass[0]
    for key in range(len(mass)):
        received = np.float64(mass[key])
        sums[0] += received if separators[key] else 0.0
        sums[1] += received if specials[key] else 0.0
        sums[3] += received
    scaling, viewers, scaled = tokens.scaling[text], tokens.viewers[text], layer.scaled_mass
    kind = scaled.dtype.type
    largest = np.finfo(scaled.dtype).tiny
    for key in range(len(mass)):
        per_viewer = mass[key] / viewers[key] if scaling[key] else kind(0)
        scaled[text, head, key] = per_viewer
        largest = max(largest, per_viewer)
    for key in range(len(mass)):
        scaled[text, head, key] /= largest
        for which in range(len(layer.thresholds)):
            outputs.high[text, head, which] += scaled[text, head, key] >= layer.thresholds[which]


@entry
def measure_short_windows(products: Products, first_window: int, task: Task) -> None:
    """Measure the texts from `first_window` on, whose products are given."""
    texts, scratch = task.texts, task.scratch
    for head in range(products.heads):
        for place in range(products.texts):
            text = first_window + place
            begin_window(text, head, task)
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
        begin_window(text, head, task)
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
    begin_window(text, head, task)
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
