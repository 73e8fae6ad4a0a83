"""What the compiled pass over a layer reads and writes, and the work space it needs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
"""Loose rules counted in one pass: a byte of a number each."""


SAMPLE = 512
"""About so many pairs of a text are looked at to guess how large the largest are."""


class Texts(NamedTuple):
    """What is known of a batch of texts: the same for every head of a stack."""

    counted: Truths  # b n
    end_counted: Ints  # b: one past the last counted token
    has_holes: Truths  # b: whether tokens in between are not counted
    groups: Ints  # g b n: sentence, token, word, lemma
    rates: Doubles  # g b distance
    pair_counts: Doubles  # b distance
    first: Ints  # b n
    kinds: Ints  # b n
    starts: Truths  # b n: where a sentence begins behind another
    permuted_sentences: Ints  # b n p
    permuted_tokens: Ints  # b n p
    is_top: Truths  # r; the first rule is the run's own
    taken: Ints  # b r: pairs that a top rule takes of a text


class Tokens(NamedTuple):
    """What is known of single tokens: the same for every head of a stack."""

    counted: Truths  # b n
    separators: Truths  # b n: those that are counted
    key_separators: Truths  # b k: those that are not special
    key_specials: Truths  # b k
    scaling: Truths  # b k: whether a key sets the scale of column mass, and has one
    viewers: Floats  # b k: how many queries can see a key, 1 at least


class Layer(NamedTuple):
    """What the heads of a layer wrote, beside the products themselves."""

    scales: Floats  # b h n: similarities times both scales are summed too
    scale_by_length: bool  # whether a scale is the length of a vector, or 1 / that
    sum_scaled: bool
    sum_own: bool
    profiles: bool  # whether sums by distance are wanted, and what follows from them
    scaled_mass: Floats  # b h k
    thresholds: Floats  # t attention thresholds; the first is the run's own
    rule_values: Floats  # r: the fraction of the largest, for rules of that kind


class Outputs(NamedTuple):
    """What the passes write; all zero at first."""

    lengths: Doubles  # b h 2: lengths of vectors, summed over counted tokens, and over separators
    attention: Doubles  # b h 4: mass on separators, on special tokens, on the first, on all
    high: Doubles  # b h t: high-attention tokens
    rules: Doubles  # b h r column
    groups: Doubles  # b h group (pairs, expected): word and lemma
    touched: Doubles  # b h t: pairs of the run's rule that touch a high-attention token
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
    permuted_tokens: Ints  # h p


class Scratch(NamedTuple):
    """Work space of one head for the text it is at. Widths are those of a text, rounded up."""

    profile: Doubles  # by BLOCK + distance; all and within a sentence less the centre, positive
    part_of_profile: Floats  # the same of some rows: rounding stays small, and it fits a cache
    squares: Doubles  # 1: the sum of squared similarities, each less the centre
    centre: Floats  # 1: a similarity like any other of the text
    line: Floats  # w: a row of similarities; zero up to its own token, and where none is counted
    scales: Floats  # w
    sentences: Ints  # w: a token in no sentence has one of its own, below -1
    tokens: Ints  # w: the same of identities
    high: Ints  # w: 1 if a token has high attention, 0 if not
    candidates: Floats  # the largest similarities so far, in no order
    candidate_rows: (
        Ints  # unsigned, as the two below: numba then need not ask for places below zero
    )
    candidate_columns: Ints
    candidate_classes: Ints  # place, in `lowest_first`, of the strictest rule that takes a pair
    best: Floats
    filled: Ints  # 1: how many candidates there are
    floor: Floats  # 1: what a candidate must reach; all that do are candidates
    sample: Floats  # some similarities of a text
    rule_thresholds: Floats  # r
    lowest_first: Ints  # r: rules by threshold
    loose: Ints  # 1: how many of the lowest rules are counted by themselves
    own_is_below: Truths  # 1: whether the run's own rule takes pairs that are no candidates
    loose_thresholds: Floats  # LOOSE_AT_ONCE
    loose_distances: Ints  # BLOCK + w: counts of loose rules, a byte each, by BLOCK + distance
    loose_elements: Ints  # w: the same by token
    class_distances: Ints  # r n
    class_elements: Ints  # r n
    class_labels: Ints  # r: three counts in one number
    class_counts: Ints  # r (sentence, token, mask)


class Task(NamedTuple):
    """All that the pass reads and writes."""

    texts: Texts
    layer: Layer
    outputs: Outputs
    scratch: Scratch


_SHORT = 256
"""Up to so many tokens, all similarities of a text are kept at once."""


def padded(n: int) -> int:
    """The width of a row of `n` numbers in whole blocks."""
    return (n + BLOCK - 1) // BLOCK * BLOCK


def new_scratch(texts: Texts, layer: Layer) -> Scratch:
    """Work space for one head after the other.

    Made by NumPy: numba would take seconds to compile it.
    """
    n, kind, rules = texts.counted.shape[1], layer.scales.dtype, len(layer.rule_values)
    width, all_pairs = padded(n), n * (n - 1) // 2
    most = int(texts.taken[:, texts.is_top].max(initial=1))
    # All similarities, or a few times those that rules may take; and room for one more row.
    candidates = (all_pairs if n <= _SHORT else min(all_pairs, max(1024, 4 * most))) + width
    return Scratch(
        profile=np.zeros((3, width + BLOCK)),
        part_of_profile=np.zeros((3, width + BLOCK), kind),
        squares=np.zeros(1),
        centre=np.zeros(1, kind),
        line=np.zeros(width, kind),
        scales=np.zeros(width, kind),
        sentences=np.zeros(width, np.int32),
        tokens=np.zeros(width, np.int32),
        high=np.zeros(width, np.int32),
        candidates=np.empty(candidates, kind),
        candidate_rows=np.empty(candidates, np.uint32),
        candidate_columns=np.empty(candidates, np.uint32),
        candidate_classes=np.empty(candidates, np.uint32),
        best=np.empty(candidates, kind),
        filled=np.zeros(1, np.int64),
        floor=np.zeros(1, kind),
        sample=np.empty(2 * SAMPLE + n, kind),
        rule_thresholds=np.zeros(rules, kind),
        lowest_first=np.zeros(rules, np.int64),
        loose=np.zeros(1, np.int64),
        own_is_below=np.zeros(1, np.bool_),
        loose_thresholds=np.zeros(LOOSE_AT_ONCE, kind),
        loose_distances=np.zeros(width + BLOCK, np.uint32),
        loose_elements=np.zeros(width, np.uint32),
        class_distances=np.zeros((rules, n), np.int32),
        class_elements=np.zeros((rules, n), np.int32),
        class_labels=np.zeros(rules, np.int64),
        class_counts=np.zeros((rules, 3), np.int64),
    )
