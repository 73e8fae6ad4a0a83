"""Some rows of a head's similarity matrix: the pairs that each rule takes, counted (compiled)."""

import numpy as np
from numba import njit

from headscope.compiled.layout import Doubles, Floats, Ints, Layer, Outputs, Scratch, Texts

_SECOND = 65536
"""Two counts in one number: a row has fewer tokens than this."""


@njit(cache=True, nogil=True, error_model="numpy")
def count_rows(
    tile: Floats,
    first_row: int,
    text: int,
    head: int,
    texts: Texts,
    layer: Layer,
    scratch: Scratch,
) -> None:
    """Count what the rules take of the rows from `first_row` on.

    `tile` holds the run's similarities, its first column being token `first_row`.
    """
    end, counted = texts.end_counted[text], texts.counted[text]
    sentences, tokens = texts.groups[0, text], texts.groups[1, text]
    mass = layer.scaled_mass[text, head]
    # Cross attention reads other tokens than it writes for: what it counts here is never shown.
    masked = len(mass) >= end
    thresholds, high = scratch.rule_thresholds, layer.thresholds[0]
    distances, elements, counts = (
        scratch.rule_distances,
        scratch.rule_elements,
        scratch.rule_counts,
    )
    with_sentence, with_token = scratch.same_sentence, scratch.same_token
    own_pairs, ascending = scratch.own_pairs, np.argsort(thresholds)
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        row = tile[place, place + 1 : end - first_row]
        # No token has an id below -1: without a group a token is with nobody.
        _label(sentences[i + 1 : end], sentences[i] if sentences[i] >= 0 else -2, 1, with_sentence)
        _label(tokens[i + 1 : end], tokens[i] if tokens[i] >= 0 else -2, 0, with_token)
        if masked:
            _label_mass(mass[i + 1 : end], mass[i], high, with_token)
        own_pairs[i] = 0
        # From the lowest threshold on: a rule that takes nothing of a row ends it.
        for rule in ascending:
            both = _count_row(row, thresholds[rule], with_sentence, with_token)
            pairs = both[0] & (_SECOND - 1)
            if pairs == 0:
                break
            if rule == 0:
                own_pairs[i] = pairs
            _count_places(
                row, thresholds[rule], distances[rule, 1 : end - i], elements[rule, i + 1 : end]
            )
            elements[rule, i] += pairs
            counts[rule, 0] += pairs
            counts[rule, 1] += both[0] >> 16
            counts[rule, 2] += both[1] >> 16
            counts[rule, 3] += both[1] & (_SECOND - 1)


@njit(cache=True, nogil=True, error_model="numpy")
def _label(ids: Ints, own: int, base: int, labels: Ints) -> None:
    """Mark the tokens with the id of the row's token in the upper half of their labels."""
    for k in range(len(ids)):
        labels[k] = np.int32(base + _SECOND) if ids[k] == own else np.int32(base)


@njit(cache=True, nogil=True, error_model="numpy")
def _label_mass(mass: Floats, own: float, threshold: float, labels: Ints) -> None:
    """Mark in the lower half the tokens that have high attention, or all if the row's token has."""
    if own >= threshold:
        for k in range(len(mass)):
            labels[k] += np.int32(1)
    else:
        for k in range(len(mass)):
            labels[k] += np.int32(mass[k] >= threshold)


@njit(cache=True, nogil=True, error_model="numpy")
def _count_row(
    row: Floats, threshold: float, with_sentence: Ints, with_token: Ints
) -> tuple[np.int32, np.int32]:
    """The labels of the pairs taken, summed."""
    one, other = np.int32(0), np.int32(0)
    for k in range(len(row)):
        taken = row[k] >= threshold
        one += with_sentence[k] if taken else np.int32(0)
        other += with_token[k] if taken else np.int32(0)
    return one, other


@njit(cache=True, nogil=True, error_model="numpy")
def _count_places(row: Floats, threshold: float, distances: Ints, elements: Ints) -> None:
    for k in range(len(row)):
        taken = np.int32(row[k] >= threshold)
        distances[k] += taken
        elements[k] += taken


@njit(cache=True, nogil=True, error_model="numpy")
def measure_pairs(
    tile: Floats,
    first_row: int,
    text: int,
    head: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """What is measured for the pairs of the run's own rule alone, in the rows of `tile`."""
    end, counted, own = texts.end_counted[text], texts.counted[text], scratch.rule_thresholds[0]
    word, lemma, kinds = texts.groups[2, text], texts.groups[3, text], texts.kinds[text]
    mass, thresholds = layer.scaled_mass[text, head], layer.thresholds
    own_pairs = scratch.own_pairs
    groups, touched = outputs.groups[text, head], outputs.touched[text, head]
    element_kinds = outputs.element_kinds[head]
    sentences, tokens = texts.permuted_sentences[text], texts.permuted_tokens[text]
    in_sentence, same_token = outputs.permuted_sentences[head], outputs.permuted_tokens[head]
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i] or own_pairs[i] == 0:
            continue
        row = tile[place]
        for j in range(i + 1, end):
            if not row[j - first_row] >= own:
                continue
            groups[0, 0] += word[i] == word[j] and word[i] >= 0
            groups[1, 0] += lemma[i] == lemma[j] and lemma[i] >= 0
            element_kinds[kinds[i]] += 1
            element_kinds[kinds[j]] += 1
            if len(mass) > j:
                largest_mass = max(mass[i], mass[j])
                for threshold in range(len(thresholds)):
                    touched[threshold] += largest_mass >= thresholds[threshold]
            _count_equal(sentences[i], sentences[j], in_sentence)
            _count_equal(tokens[i], tokens[j], same_token)


@njit(cache=True, nogil=True, error_model="numpy")
def _count_equal(one: Ints, other: Ints, counts: Doubles) -> None:
    """Count under which permutations two tokens belong together."""
    for permutation in range(len(counts)):
        alike = (one[permutation] == other[permutation]) & (one[permutation] >= 0)
        counts[permutation] += 1.0 if alike else 0.0
