"""All heads of a layer over a batch of texts, matrix by matrix while each is in cache (compiled).

Threads share out the heads, so that sums over texts need no locks and come out the same whatever
the number of threads. Each pass comes twice: for several threads, and for callers that run in
threads of their own.
"""

import numpy as np
from numba import njit, prange

from headscope.compiled.count_rows import count_rows, measure_pairs
from headscope.compiled.finish_text import begin_text, finish_counts, finish_sums
from headscope.compiled.layout import Floats, Layer, Outputs, Scratch, Texts
from headscope.compiled.sum_rows import hide_uncounted, most_taken, sum_around_boundaries, sum_rows


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def measure_texts(
    products: Floats, first_text: int, texts: Texts, layer: Layer, outputs: Outputs
) -> None:
    """Measure the texts from `first_text` on, whose whole products (b h n n) are given."""
    for head in prange(products.shape[1]):
        _measure_head(head, products, first_text, texts, layer, outputs)


@njit(cache=True, nogil=True, error_model="numpy")
def measure_texts_on_one_thread(
    products: Floats, first_text: int, texts: Texts, layer: Layer, outputs: Outputs
) -> None:
    """The same on the calling thread."""
    for head in range(products.shape[1]):
        _measure_head(head, products, first_text, texts, layer, outputs)


@njit(cache=True, nogil=True, error_model="numpy")
def _measure_head(
    head: int, products: Floats, first_text: int, texts: Texts, layer: Layer, outputs: Outputs
) -> None:
    n = products.shape[2]
    room = 0
    for place in range(products.shape[0]):
        room = max(room, candidates_room(n, most_taken(first_text + place, texts)))
    scratch = _of_head(0, new_scratch(1, n, room, layer))
    for place in range(products.shape[0]):
        text = first_text + place
        tile = products[place, head]
        begin_text(scratch)
        sum_rows(tile, 0, text, head, texts, layer, outputs, scratch)
        sum_around_boundaries(tile, 0, text, head, texts, outputs)
        finish_sums(text, head, texts, layer, outputs, scratch)
        count_rows(tile, 0, text, head, texts, layer, scratch)
        measure_pairs(tile, 0, text, head, texts, layer, outputs, scratch)
        finish_counts(text, head, texts, outputs, scratch)


@njit(cache=True, nogil=True, error_model="numpy")
def candidates_room(n: int, most: int) -> int:
    """How many candidates are kept at once: a few times those that rules may take."""
    return min(n * (n - 1) // 2, max(1024, 4 * most)) + n


@njit(cache=True, nogil=True, error_model="numpy")
def new_scratch(heads: int, n: int, room: int, layer: Layer) -> Scratch:
    """Work space for several heads: every array with a head axis in front."""
    kind, rules = layer.scales.dtype, len(layer.rule_values)
    return Scratch(
        np.zeros((heads, 4, n)),
        np.empty((heads, n), kind),
        np.empty((heads, room), kind),
        np.empty((heads, room), kind),
        np.zeros((heads, 1), np.int64),
        np.full((heads, 1), -np.inf, kind),
        np.empty((heads, rules), kind),
        np.zeros((heads, rules, n), np.int32),
        np.zeros((heads, rules, n), np.int32),
        np.zeros((heads, rules, 4), np.int64),
        np.zeros((heads, n), np.int32),
        np.zeros((heads, n), np.int32),
        np.zeros((heads, n), np.int32),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _of_head(head: int, scratch: Scratch) -> Scratch:
    return Scratch(
        scratch.profile[head],
        scratch.scaled_row[head],
        scratch.candidates[head],
        scratch.best[head],
        scratch.filled[head],
        scratch.floor[head],
        scratch.rule_thresholds[head],
        scratch.rule_distances[head],
        scratch.rule_elements[head],
        scratch.rule_counts[head],
        scratch.own_pairs[head],
        scratch.same_sentence[head],
        scratch.same_token[head],
    )


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
        hide_uncounted(tile[head], first_row, text, texts)
        count_rows(tile[head], first_row, text, head, texts, layer, mine)
        measure_pairs(tile[head], first_row, text, head, texts, layer, outputs, mine)


@njit(cache=True, nogil=True, error_model="numpy")
def finish_tile_counts(text: int, texts: Texts, outputs: Outputs, scratch: Scratch) -> None:
    """For long texts, last: the rows of each rule."""
    for head in range(len(scratch.filled)):
        finish_counts(text, head, texts, outputs, _of_head(head, scratch))
