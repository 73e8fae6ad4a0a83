"""All heads of a layer over a batch of texts, matrix by matrix while each is in cache (compiled).

Sums over texts need no locks and come out the same whatever the number of threads: callers with
threads of their own give each its own sums, and the passes over long texts share out the heads.
"""

from numba import prange

from headscope.compiled.count_pairs import count_candidates, count_pairs
from headscope.compiled.decorators import entry, entry_on_threads, inner
from headscope.compiled.finish_text import begin_text, finish_counts, finish_sums
from headscope.compiled.layout import Floats, Layer, Outputs, Scratch, Texts
from headscope.compiled.sum_rows import sum_around_boundaries, sum_rows


@entry
def measure_texts(
    products: Floats,
    first_text: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """Measure the texts from `first_text` on, whose whole products (b h n n) are given.

    `scratch` is work space for one head.
    """
    n_texts, heads, _, _ = products.shape
    mine = _of_head(0, scratch)
    for head in range(heads):
        for place in range(n_texts):
            text = first_text + place
            tile = products[place, head]
            begin_text(text, head, texts, layer, mine)
            sum_rows(tile, 0, text, head, texts, layer, outputs, mine)
            sum_around_boundaries(tile, 0, text, head, texts, outputs)
            finish_sums(text, head, texts, layer, outputs, mine)
            count_pairs(tile, 0, text, head, texts, layer, outputs, mine)
            finish_counts(text, head, texts, outputs, mine)


@inner
def _of_head(head: int, scratch: Scratch) -> Scratch:
    return Scratch(
        scratch.profile[head],
        scratch.part_of_profile[head],
        scratch.squares[head],
        scratch.line[head],
        scratch.scaled[head],
        scratch.scales[head],
        scratch.sentences[head],
        scratch.tokens[head],
        scratch.high[head],
        scratch.candidates[head],
        scratch.candidate_places[head],
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


@entry_on_threads
def begin_tiles(text: int, texts: Texts, layer: Layer, scratch: Scratch) -> None:
    """For long texts, before all else."""
    for head in prange(len(scratch.filled)):
        begin_text(text, head, texts, layer, _of_head(head, scratch))


@entry_on_threads
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


@entry_on_threads
def finish_tile_sums(
    text: int, texts: Texts, layer: Layer, outputs: Outputs, scratch: Scratch
) -> None:
    """For long texts, between the passes: what each rule takes is known now."""
    for head in prange(len(scratch.filled)):
        finish_sums(text, head, texts, layer, outputs, _of_head(head, scratch))


@entry_on_threads
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


@entry_on_threads
def count_kept(text: int, texts: Texts, layer: Layer, outputs: Outputs, scratch: Scratch) -> None:
    """For long texts, in place of the second pass: count the candidates, whose places are known."""
    for head in prange(len(scratch.filled)):
        count_candidates(text, head, texts, layer, outputs, _of_head(head, scratch))


@entry
def finish_tile_counts(text: int, texts: Texts, outputs: Outputs, scratch: Scratch) -> None:
    """For long texts, last: the rows of each rule."""
    for head in range(len(scratch.filled)):
        finish_counts(text, head, texts, outputs, _of_head(head, scratch))
