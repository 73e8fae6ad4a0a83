"""All heads of a layer over a batch of texts, matrix by matrix while each is in cache (compiled).

Sums over texts need no locks and come out the same whatever the number of threads: callers with
threads of their own give each its own sums, and the passes over long texts share out the heads.
"""

import numpy as np
from numba import njit, prange

from headscope.compiled.count_pairs import count_pairs
from headscope.compiled.finish_text import begin_text, finish_counts, finish_sums
from headscope.compiled.layout import BLOCK, Floats, Layer, Outputs, Scratch, Texts
from headscope.compiled.sum_rows import most_taken, sum_around_boundaries, sum_rows

_SHORT = 256
"""Up to so many tokens, all similarities of a text are kept at once."""
_PAIRS_AT_ONCE = 2048


@njit(cache=True, nogil=True, error_model="numpy")
def measure_texts(
    products: Floats, first_text: int, texts: Texts, layer: Layer, outputs: Outputs
) -> None:
    """Measure the texts from `first_text` on, whose whole products (b h n n) are given."""
    n_texts, heads, n, _ = products.shape
    room = 0
    for place in range(n_texts):
        room = max(room, candidates_room(n, most_taken(first_text + place, texts)))
    scratch = _of_head(0, new_scratch(1, n, room, layer))
    for head in range(heads):
        for place in range(n_texts):
            text = first_text + place
            tile = products[place, head]
            begin_text(text, head, texts, layer, scratch)
            sum_rows(tile, 0, text, head, texts, layer, outputs, scratch)
            sum_around_boundaries(tile, 0, text, head, texts, outputs)
            finish_sums(text, head, texts, layer, outputs, scratch)
            count_pairs(tile, 0, text, head, texts, layer, outputs, scratch)
            finish_counts(text, head, texts, outputs, scratch)


@njit(cache=True, nogil=True, error_model="numpy")
def candidates_room(n: int, most: int) -> int:
    """How many candidates are kept at once: all, or a few times those that rules may take."""
    pairs = n * (n - 1) // 2
    return (pairs if n <= _SHORT else min(pairs, max(1024, 4 * most))) + padded(n)


@njit(cache=True, nogil=True, error_model="numpy")
def padded(n: int) -> int:
    """The width of a row of `n` numbers in whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


@njit(cache=True, nogil=True, error_model="numpy")
def new_scratch(heads: int, n: int, room: int, layer: Layer) -> Scratch:
    """Work space for several heads: every array with a head axis in front."""
    kind, rules, width = layer.scales.dtype, len(layer.rule_values), padded(n)
    pairs = min(_PAIRS_AT_ONCE, n * (n - 1) // 2) + width
    return Scratch(
        np.zeros((heads, 4, width + BLOCK)),
        np.zeros((heads, width), kind),
        np.zeros((heads, width), kind),
        np.zeros((heads, width), kind),
        np.zeros((heads, width), np.int32),
        np.zeros((heads, width), np.int32),
        np.zeros((heads, width), np.bool_),
        np.empty((heads, room), kind),
        np.empty((heads, room), kind),
        np.zeros((heads, 1), np.int64),
        np.zeros((heads, 1), kind),
        np.zeros((heads, rules), kind),
        np.zeros((heads, rules), np.int64),
        np.empty((heads, pairs), kind),
        np.empty((heads, pairs), np.uint32),
        np.empty((heads, pairs), np.uint32),
        np.empty((heads, pairs), np.uint32),
        np.zeros((heads, rules, n), np.int32),
        np.zeros((heads, rules, n), np.int32),
        np.zeros((heads, rules), np.int64),
        np.zeros((heads, rules, 4), np.int64),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _of_head(head: int, scratch: Scratch) -> Scratch:
    return Scratch(
        scratch.profile[head],
        scratch.line[head],
        scratch.scaled[head],
        scratch.scales[head],
        scratch.sentences[head],
        scratch.tokens[head],
        scratch.high[head],
        scratch.candidates[head],
        scratch.best[head],
        scratch.filled[head],
        scratch.floor[head],
        scratch.rule_thresholds[head],
        scratch.lowest_first[head],
        scratch.pair_values[head],
        scratch.pair_rows[head],
        scratch.pair_columns[head],
        scratch.pair_classes[head],
        scratch.class_distances[head],
        scratch.class_elements[head],
        scratch.class_labels[head],
        scratch.class_counts[head],
    )


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def begin_tiles(text: int, texts: Texts, layer: Layer, scratch: Scratch) -> None:
    """For long texts, before all else."""
    for head in prange(len(scratch.filled)):
        begin_text(text, head, texts, layer, _of_head(head, scratch))


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def sum_tile(
    tile: Floats,
    first_row: int,
    text: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """For long texts, first: sum some rows (h row column) of a text's products."""
    for head in prange(tile.shape[0]):
        mine = _of_head(head, scratch)
        sum_rows(tile[head], first_row, text, head, texts, layer, outputs, mine)
        sum_around_boundaries(tile[head], first_row, text, head, texts, outputs)


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def finish_tile_sums(
    text: int, texts: Texts, layer: Layer, outputs: Outputs, scratch: Scratch
) -> None:
    """For long texts, between the passes: what each rule takes is known now."""
    for head in prange(len(scratch.filled)):
        finish_sums(text, head, texts, layer, outputs, _of_head(head, scratch))


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def count_tile(
    tile: Floats,
    first_row: int,
    text: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """For long texts, second: count pairs in some rows (h row column) of a text's products."""
    for head in prange(tile.shape[0]):
        mine = _of_head(head, scratch)
        count_pairs(tile[head], first_row, text, head, texts, layer, outputs, mine)


@njit(cache=True, nogil=True, error_model="numpy")
def finish_tile_counts(text: int, texts: Texts, outputs: Outputs, scratch: Scratch) -> None:
    """For long texts, last: the rows of each rule."""
    for head in range(len(scratch.filled)):
        finish_counts(text, head, texts, outputs, _of_head(head, scratch))
