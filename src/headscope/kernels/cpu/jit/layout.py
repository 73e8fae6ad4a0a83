"""What the compiled passes over a layer read and write, and the work space they need.

Named tuples of arrays, with the shape of each: b windows, h heads, n tokens, k keys, d_head as d, r
pair rules, t attention thresholds, p permutations; and `band`, which reads the products of short
windows. `headscope.kernels.cpu.pass_arrays` makes them from tensors.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.decorators import inlined, inner

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Doubles = NDArray[np.float64]
Truths = NDArray[np.bool_]

PAIRS, DISTANCE_SUM, SENTENCE_PAIRS, SENTENCE_EXPECTED = 0, 1, 2, 3
TOKEN_PAIRS, TOKEN_EXPECTED, FOCAL_PLACE, FOCAL_ELEMENTS, MASK_PAIRS = 4, 5, 6, 7, 8
RULE_COLUMNS = 9
"""The columns of `Outputs.rules`."""


BLOCK = 16
"""Rows are padded to multiples of this: two vectors of eight numbers, or four of four."""

LOOSE_AT_ONCE = 4
"""Loose rules counted in one pass: each in one byte of a 32-bit number."""

SAMPLE = 512
"""Approximate number of pairs of a window from which the largest similarities are guessed."""


class Windows(NamedTuple):
    """What is known of a batch of windows, the same for every head of a stack."""

    counted: Truths  # b n
    end_counted: Ints  # b: one past the last counted token
    has_holes: Truths  # b: whether some tokens before that are not counted
    groups: Ints  # g b n: sentence, token, word, lemma
    rates: Doubles  # g b distance
    pair_counts: Doubles  # b distance
    first: Ints  # b n
    kinds: Ints  # b n
    starts: Truths  # b n: where a sentence begins after another one
    permuted_sentences: Ints  # b n p
    is_top: Truths  # r; the first rule is the run's own
    taken: Ints  # b r: number of pairs that a top rule takes of a window


class Tokens(NamedTuple):
    """What is known of single tokens, the same for every head of a stack."""

    counted: Truths  # b n
    separators: Truths  # b n: those that are counted
    key_separators: Truths  # b k: those that are not special
    key_special_separators: Truths  # b k: [SEP], </s>
    key_starts: Truths  # b k: all other special tokens
    scaling: Truths  # b k: whether a key sets the scale of column mass; others get 0
    viewers: Floats  # b k: what column mass is divided by, at least 1
    may_be_high: Truths  # b k: whether a key counts as a high-attention token


class Layer(NamedTuple):
    """What the heads of a layer wrote, beside the products themselves."""

    scales: Floats  # b h n: similarities times both tokens' scales are summed too
    scale_by_length: bool  # whether a scale is the length of a vector, or 1 / length
    sum_scaled: bool
    sum_own: bool
    profiles: bool  # whether sums by distance, and what follows from them, are wanted
    scaled_mass: Floats  # b h k
    thresholds: Floats  # t; the first is the run's own
    rule_values: Floats  # r: for max rules, the fraction of the largest similarity


class Outputs(NamedTuple):
    """What the passes write. Most start at zero, since passes add to them."""

    lengths: Doubles  # b h 2: lengths of vectors, summed over counted tokens, and over separators
    attention: Doubles  # b h 5: mass on . ! ?, special separators, starts, the first token, all
    high: Doubles  # b h t: high-attention tokens
    rules: Doubles  # b h r column
    groups: Doubles  # b h group (pairs, expected): word and lemma
    touched: Doubles  # b h t: pairs of the run's rule that touch a high-attention token
    common: Doubles  # b h 3: first place of the common token, its pairs, those in its context
    half_distance: Doubles  # b h
    block_contrast: Doubles  # b h
    own_sums: Floats  # h n w, upper triangle; w is n rounded up to whole blocks
    scaled_sums: Floats  # h n w, upper triangle
    aligned_sums: Doubles  # h offset offset
    by_distance: Doubles  # h distance
    within_by_distance: Doubles  # h distance
    distances: Doubles  # h distance
    element_kinds: Doubles  # h kind
    permuted_sentences: Ints  # h p


class Scratch(NamedTuple):
    """Work space for one head and window at a time. w is n rounded up to whole blocks."""

    profile: Doubles  # 3 by BLOCK + distance: all and within a sentence, minus centre; positive
    part_of_profile: (
        Floats  # the same for a few rows: rounding errors stay small, and it fits in cache
    )
    squares: Doubles  # 1: the sum of squared similarities, each minus the centre
    centre: Floats  # 1: any one similarity of the window
    line: Floats  # w: a row of similarities; see `read_line`
    scales: Floats  # w
    sentences: Ints  # w: a token in no sentence has an id of its own, below -1
    tokens: Ints  # w: the same for token identities
    high: Ints  # w: 1 if a token has high attention, 0 if not
    candidates: Floats  # the largest similarities so far, in no order
    # Unsigned, like the two below: numba then skips its check for negative indices.
    candidate_rows: Ints
    candidate_columns: Ints
    candidate_classes: Ints  # place in `lowest_first` of the strictest rule that takes the pair
    best: Floats
    filled: Ints  # 1: number of candidates
    floor: Floats  # 1: what a candidate must reach; every pair that does is one
    sample: Floats  # some similarities of a window
    rule_thresholds: Floats  # r
    lowest_first: Ints  # r: rules in order of their thresholds
    loose: Ints  # 1: how many of the lowest rules are counted from the rows
    own_is_below: Truths  # 1: whether the run's own rule takes pairs that are not candidates
    loose_thresholds: Floats  # LOOSE_AT_ONCE
    loose_distances: Ints  # BLOCK + w: counts of loose rules, a byte each, by BLOCK + distance
    loose_elements: Ints  # w: the same by token
    class_distances: Ints  # r n
    class_elements: Ints  # r n
    class_labels: Ints  # r: three counts in one number
    class_counts: Ints  # r (sentence, token, mask)
    partners: Ints  # n: pairs of the run's rule with another token, by a token's first place
    near: Ints  # n: those of them whose other element is in the token's context


class Task(NamedTuple):
    """All that a pass reads and writes."""

    windows: Windows
    layer: Layer
    outputs: Outputs
    scratch: Scratch


_SHORT = 256
"""Tokens of a window up to which all its similarities are kept as candidates."""


def padded(n: int) -> int:
    """The length of a row of `n` numbers, rounded up to whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


def new_scratch(windows: Windows, layer: Layer) -> Scratch:
    """Work space for heads measured one after the other.

    Made by NumPy, since numba would take seconds to compile this.

    Args:
        windows: Those that will be measured.
        layer: The layer whose heads are measured.
    """
    n, dtype, rules = windows.counted.shape[1], layer.scales.dtype, len(layer.rule_values)
    width, all_pairs = padded(n), n * (n - 1) // 2
    most = int(windows.taken[:, windows.is_top].max(initial=1))
    # All similarities, or a few times as many as rules may take; and room for one more row.
    candidates = (all_pairs if n <= _SHORT else min(all_pairs, max(1024, 4 * most))) + width
    return Scratch(
        profile=np.zeros((3, width + BLOCK)),
        part_of_profile=np.zeros((3, width + BLOCK), dtype),
        squares=np.zeros(1),
        centre=np.zeros(1, dtype),
        line=np.zeros(width, dtype),
        scales=np.zeros(width, dtype),
        sentences=np.zeros(width, np.int32),
        tokens=np.zeros(width, np.int32),
        high=np.zeros(width, np.int32),
        candidates=np.empty(candidates, dtype),
        candidate_rows=np.empty(candidates, np.uint32),
        candidate_columns=np.empty(candidates, np.uint32),
        candidate_classes=np.empty(candidates, np.uint32),
        best=np.empty(candidates, dtype),
        filled=np.zeros(1, np.int64),
        floor=np.zeros(1, dtype),
        sample=np.empty(2 * SAMPLE + n, dtype),
        rule_thresholds=np.zeros(rules, dtype),
        lowest_first=np.zeros(rules, np.int64),
        loose=np.zeros(1, np.int64),
        own_is_below=np.zeros(1, np.bool_),
        loose_thresholds=np.zeros(LOOSE_AT_ONCE, dtype),
        loose_distances=np.zeros(width + BLOCK, np.uint32),
        loose_elements=np.zeros(width, np.uint32),
        class_distances=np.zeros((rules, n), np.int32),
        class_elements=np.zeros((rules, n), np.int32),
        class_labels=np.zeros(rules, np.int64),
        class_counts=np.zeros((rules, 3), np.int64),
        partners=np.zeros(n, np.int32),
        near=np.zeros(n, np.int32),
    )


MOST_ROWS = 64
"""Of a band of products. Smaller bands cost more time than they save."""


class Products(NamedTuple):
    """Dot products of the vectors that heads wrote for some short windows.

    They are symmetric, so a band of rows starts at its own first column: with several bands, little
    is computed below the diagonal. They are ordered by window, then band, then head; with
    `heads_first`, which is for single bands, by head, then window.
    """

    numbers: Floats
    windows: int
    heads: int
    tokens: int
    band_rows: int  # the last band may have fewer
    heads_first: bool


def even_bands(tokens: int) -> int:
    """Rows of a band such that all bands of a window have about equally many."""
    return math.ceil(tokens / max(1, math.ceil(tokens / MOST_ROWS)))


@inlined
def band(products: Products, place: int, head: int, first_row: int) -> Floats:
    """The band of a window and head that starts at `first_row`, from that column on."""
    tokens, heads = products.tokens, products.heads
    columns = tokens - first_row
    rows = min(products.band_rows, columns)
    if products.heads_first:
        begin = (head * products.windows + place) * tokens * tokens
    else:
        of_window = _numbers_before(tokens, products)
        begin = heads * (place * of_window + _numbers_before(first_row, products))
        begin += head * rows * columns
    return products.numbers[begin : begin + rows * columns].reshape(rows, columns)


@inner
def _numbers_before(row: int, products: Products) -> int:
    """Number of products of a window and head before a row that starts a band, or the end."""
    tokens, rows = products.tokens, products.band_rows
    bands = row // rows
    numbers = rows * (bands * tokens - rows * (bands * (bands - 1) // 2))
    left = row - bands * rows
    return numbers + left * left
