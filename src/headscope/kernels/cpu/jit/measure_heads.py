"""The passes over a layer that Python calls: by token, then by similarity matrix (compiled).

Given the vectors, column mass and dot products of a layer; fills its `Outputs`. Short windows come
several at a time, long windows in tiles of rows.
"""

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
    Products,
    Scratch,
    Task,
    Tokens,
    Windows,
    band,
)
from headscope.kernels.cpu.jit.sift_rows import keep_largest, likely_taken, most_taken, sift_rows
from headscope.kernels.cpu.jit.sum_rows import sum_around_boundaries, sum_rows

_SHORTEST = 1e-12
"""Least length of a vector where something is divided by it."""


@entry
def measure_tokens(
    vectors: Floats, mass: Floats, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    """Fill in the scales and scaled mass of `layer`, and the sums over tokens of `outputs`.

    Args:
        vectors: What the heads wrote (b n h d).
        mass: The attention that each key received (b h k).
        tokens: What is known of the tokens.
        layer: Its `scales` and `scaled_mass` are filled in.
        outputs: Its `lengths`, `attention` and `high` are added to.
    """
    n_windows, heads, _ = mass.shape
    for window in range(n_windows):
        for place in range(vectors.shape[1]):
            for head in range(heads):
                length = np.sqrt(_squares(vectors[window, place, head]))
                _keep_length(length, window, head, place, tokens, layer, outputs)
        for head in range(heads):
            _measure_mass(mass[window, head], window, head, tokens, layer, outputs)


@inner_in_any_order
def _squares(row: Floats) -> Any:
    summed = row.dtype.type(0)
    for k in range(len(row)):
        summed += row[k] * row[k]
    return summed


@inner
def _keep_length(
    length: float,
    window: int,
    head: int,
    place: int,
    tokens: Tokens,
    layer: Layer,
    outputs: Outputs,
) -> None:
    dtype: Any = layer.scales.dtype.type
    scale = length if layer.scale_by_length else dtype(1) / max(length, dtype(_SHORTEST))
    layer.scales[window, head, place] = scale
    if tokens.counted[window, place]:
        outputs.lengths[window, head, 0] += length
        if tokens.separators[window, place]:
            outputs.lengths[window, head, 1] += length


@inner
def _measure_mass(
    mass: Floats, window: int, head: int, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    """Add up mass on separators, special and first tokens; scale that of each key to at most 1."""
    marks, starts = tokens.key_separators[window], tokens.key_starts[window]
    special_separators = tokens.key_special_separators[window]
    sums = outputs.attention[window, head]
    if len(mass) > 0:
        sums[3] = mass[0]
    for key in range(len(mass)):
        received = np.float64(mass[key])
        sums[0] += received if marks[key] else 0.0
        sums[1] += received if special_separators[key] else 0.0
        sums[2] += received if starts[key] else 0.0
        sums[4] += received
    scaling, viewers, scaled = tokens.scaling[window], tokens.viewers[window], layer.scaled_mass
    dtype = scaled.dtype.type
    largest = np.finfo(scaled.dtype).tiny
    for key in range(len(mass)):
        per_viewer = mass[key] / viewers[key] if scaling[key] else dtype(0)
        scaled[window, head, key] = per_viewer
        largest = max(largest, per_viewer)
    for key in range(len(mass)):
        scaled[window, head, key] /= largest
        for which in range(len(layer.thresholds)):
            reached = scaled[window, head, key] >= layer.thresholds[which]
            outputs.high[window, head, which] += reached & tokens.may_be_high[window, key]


@entry
def measure_short_windows(products: Products, first_window: int, task: Task) -> None:
    """Measure short windows.

    Args:
        products: The dot products of their vectors.
        first_window: The place of the first of them in the batch.
        task: What is read and written.
    """
    windows, scratch = task.windows, task.scratch
    for head in range(products.heads):
        for place in range(products.windows):
            window = first_window + place
            begin_window(window, head, task)
            scratch.floor[0] = likely_taken(products, place, head, window, windows, scratch)
            for row in range(0, products.tokens, products.band_rows):
                tile = band(products, place, head, row)
                sum_rows(tile, row, window, head, task)
                sum_around_boundaries(tile, row, window, head, windows, task.outputs)
                sift_rows(tile, row, window, windows, scratch)
            if _floor_was_too_high(window, windows, scratch):
                scratch.floor[0], scratch.filled[0] = -np.inf, 0
                for row in range(0, products.tokens, products.band_rows):
                    sift_rows(band(products, place, head, row), row, window, windows, scratch)
            _finish_first_pass(window, head, task)
            if counts_rows(scratch):
                for row in range(0, products.tokens, products.band_rows):
                    count_rows(band(products, place, head, row), row, window, head, task)
                finish_counts(window, head, task)


@entry
def sum_tile(
    tile: Floats, first_row: int, guess: float, window: int, head: int, task: Task
) -> bool:
    """First pass over a long window: sum and sift a tile; False if the rows must be sifted again.

    Tiles come in order, the last one ending with the window.

    Args:
        tile: The similarities of some rows; its first column is token `first_row`.
        first_row: The first row of the tile.
        guess: A similarity that probably at least as many pairs reach as any rule takes. After the
            last tile it is known whether that was so.
        window: Its place in the batch.
        head: Its place in the layer.
        task: What is read and written.
    """
    windows, scratch = task.windows, task.scratch
    if first_row == 0:
        begin_window(window, head, task)
        scratch.floor[0] = guess
    sum_rows(tile, first_row, window, head, task)
    sift_rows(tile, first_row, window, windows, scratch)
    if first_row + len(tile) < windows.end_counted[window]:
        return True
    if _floor_was_too_high(window, windows, scratch):
        return False
    _finish_first_pass(window, head, task)
    return True


@entry
def sift_tile(tile: Floats, first_row: int, window: int, head: int, task: Task) -> None:
    """For a long window, after a wrong guess: sift the rows again, tile by tile in order."""
    windows, scratch = task.windows, task.scratch
    if first_row == 0:
        scratch.floor[0], scratch.filled[0] = -np.inf, 0
    sift_rows(tile, first_row, window, windows, scratch)
    if first_row + len(tile) >= windows.end_counted[window]:
        _finish_first_pass(window, head, task)


@entry
def count_tile(tile: Floats, first_row: int, window: int, head: int, task: Task) -> None:
    """Second pass over a long window: count pairs, tile by tile in order.

    Needed only where `counts_rows` is true.
    """
    count_rows(tile, first_row, window, head, task)
    if first_row + len(tile) >= task.windows.end_counted[window]:
        finish_counts(window, head, task)


@entry
def begin_ordered(guess: float, window: int, head: int, task: Task) -> None:
    """Before the tiles of a long window whose tokens come in any order, since no sums are wanted.

    `guess` is a similarity that probably at least as many pairs reach as any rule takes.
    """
    begin_window(window, head, task)
    task.scratch.floor[0] = guess


@entry
def sift_ordered(
    tile: Floats, first_row: int, window: int, ordered: Windows, scratch: Scratch
) -> Any:
    """Sift a tile; the similarity that a pair must reach from now on.

    `ordered` describes windows in which all tokens are counted.
    """
    sift_rows(tile, first_row, window, ordered, scratch)
    wanted = most_taken(window, ordered)
    if scratch.filled[0] > 2 * wanted:
        keep_largest(wanted, scratch)
    return scratch.floor[0]


@entry
def finish_ordered(order: Ints, window: int, head: int, task: Task) -> Any:
    """Count the pairs of all tiles; `order` gives the token at each place.

    False if they cannot be counted: `guess` was too high, or there is no room for all equal pairs.
    """
    scratch = task.scratch
    if _floor_was_too_high(window, task.windows, scratch):
        return False
    wanted = most_taken(window, task.windows)
    if scratch.filled[0] > wanted:
        keep_largest(wanted, scratch)
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    for index in range(scratch.filled[0]):
        one, other = order[rows[index]], order[columns[index]]
        rows[index], columns[index] = min(one, other), max(one, other)
    _finish_first_pass(window, head, task)
    return not counts_rows(scratch)


@inlined
def _floor_was_too_high(window: int, windows: Windows, scratch: Scratch) -> Any:
    return scratch.floor[0] > -np.inf and scratch.filled[0] < most_taken(window, windows)


@inlined
def _finish_first_pass(window: int, head: int, task: Task) -> None:
    """Find the thresholds and count the candidates; finish the window if that is all."""
    finish_sums(window, head, task)
    count_candidates(window, head, task)
    if not counts_rows(task.scratch):
        finish_counts(window, head, task)
