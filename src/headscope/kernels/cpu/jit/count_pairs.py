"""The pairs that the pair rules take from a head's similarity matrix, counted (compiled).

Given the candidates that sifting kept, and the rows of the matrix where those are not enough. Gives
counts per rule: by distance, by token, within a sentence, of the same token, with high attention.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.common_token import count_distinct
from headscope.kernels.cpu.jit.decorators import entry, inner
from headscope.kernels.cpu.jit.layout import (
    BLOCK,
    LOOSE_AT_ONCE,
    Floats,
    Ints,
    Scratch,
    Task,
    Windows,
)
from headscope.kernels.cpu.jit.sift_rows import keep_from, sift_until_full
from headscope.kernels.cpu.jit.sum_rows import fill, read_line

_ROWS = 255
"""A row adds at most 1 to each distance and each token, so a byte may be full after this many."""
_COLUMNS = 240
"""Columns of a row counted at once: whole blocks, and too few to fill a byte."""


@inner
def count_loose(
    tile: Floats, first_row: int, first: int, window: int, windows: Windows, scratch: Scratch
) -> None:
    """Count what four loose rules, starting with the `first`, take of the rows from `first_row` on.

    `tile` holds similarities; its first column is token `first_row`.
    """
    last = min(first + LOOSE_AT_ONCE, scratch.loose[0])
    fill(scratch.loose_thresholds, np.inf)
    for place in range(first, last):
        threshold = scratch.rule_thresholds[scratch.lowest_first[place]]
        scratch.loose_thresholds[place - first] = threshold
    end, counted, line = windows.end_counted[window], windows.counted[window], scratch.line
    thresholds, high = scratch.loose_thresholds, scratch.high
    sentences, tokens = scratch.sentences, scratch.tokens
    distances, elements = scratch.loose_distances, scratch.loose_elements
    rows = 0
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        begin = read_line(tile, place, first_row, end, counted, windows.has_holes[window], line)
        for column in range(begin, len(line), _COLUMNS):
            stop = min(column + _COLUMNS, len(line))
            taken, in_sentence, same_token, touched = _compare(
                line[column:stop],
                thresholds,
                sentences[column:stop],
                sentences[i],
                tokens[column:stop],
                tokens[i],
                high[column:stop],
                distances[column - i + BLOCK : stop - i + BLOCK],
                elements[column:stop],
            )
            if high[i]:
                touched = taken
            for rule in range(first, last):
                counts = scratch.class_counts[rule]
                scratch.class_elements[rule, i] += _byte(taken, rule - first)
                counts[0] += _byte(in_sentence, rule - first)
                counts[1] += _byte(same_token, rule - first)
                counts[2] += _byte(touched, rule - first)
        rows += 1
        if rows == _ROWS:
            _empty(first, last, scratch)
            rows = 0
    _empty(first, last, scratch)


@inner
def _compare(
    row: Floats,
    thresholds: Floats,
    sentences: Ints,
    sentence: int,
    tokens: Ints,
    token: int,
    high: Ints,
    distances: Ints,
    elements: Ints,
) -> tuple[Any, Any, Any, Any]:
    """Pairs, those in one sentence, of one token, with high attention; one byte for each rule."""
    t0, t1, t2, t3 = thresholds[0], thresholds[1], thresholds[2], thresholds[3]
    none = np.uint32(0)
    taken, in_sentence, same_token, touched = none, none, none, none
    for k in range(len(row)):
        value = row[k]
        by_rule = np.uint32(
            (np.uint32(1) if value >= t0 else none)
            + (np.uint32(1 << 8) if value >= t1 else none)
            + (np.uint32(1 << 16) if value >= t2 else none)
            + (np.uint32(1 << 24) if value >= t3 else none)
        )
        distances[k] += by_rule
        elements[k] += by_rule
        taken = np.uint32(taken + by_rule)
        in_sentence = np.uint32(in_sentence + (by_rule if sentences[k] == sentence else none))
        same_token = np.uint32(same_token + (by_rule if tokens[k] == token else none))
        touched = np.uint32(touched + (by_rule if high[k] else none))
    return taken, in_sentence, same_token, touched


@inner
def _empty(first: int, last: int, scratch: Scratch) -> None:
    """Add the counts of the last rows to those of the window, and reset them."""
    distances, elements = scratch.loose_distances[BLOCK:], scratch.loose_elements
    for place in range(first, last):
        for k in range(scratch.class_distances.shape[1]):
            scratch.class_distances[place, k] += _byte(distances[k], place - first)
            scratch.class_elements[place, k] += _byte(elements[k], place - first)
    fill(scratch.loose_distances, 0)
    fill(scratch.loose_elements, 0)


@inner
def _byte(number: int, place: int) -> Any:
    return (number >> np.uint32(8 * place)) & np.uint32(255)


_FIELD = 21
"""Bits of each of the three counts packed into one number: enough for `_MOST_AT_ONCE` pairs."""
_MOST_AT_ONCE = 1 << _FIELD - 1


@inner
def plan_counts(scratch: Scratch) -> None:
    """Decide how each rule is counted, now that all thresholds are known.

    A loose rule takes pairs that are not among the candidates: it is counted from the rows.
    """
    order, thresholds = scratch.lowest_first, scratch.rule_thresholds
    loose = 0
    while order[loose] != 0 and thresholds[order[loose]] < scratch.floor[0]:
        loose += 1
    scratch.loose[0] = loose
    scratch.own_is_below[0] = thresholds[0] < scratch.floor[0]


@inner
def counts_rows(scratch: Scratch) -> Any:
    """Whether another pass over the rows is needed."""
    return scratch.loose[0] > 0 or scratch.own_is_below[0]


@inner
def count_candidates(window: int, head: int, task: Task) -> None:
    """Count what the rules that are not loose take, if all of it is among the candidates."""
    scratch = task.scratch
    if scratch.own_is_below[0]:
        return
    keep_from(scratch.rule_thresholds[scratch.lowest_first[scratch.loose[0]]], scratch)
    _count(window, head, task)


@inner
def count_rows(tile: Floats, first_row: int, window: int, head: int, task: Task) -> None:
    """Count what is left to count in the rows from `first_row` on.

    `tile` holds similarities; its first column is token `first_row`.
    """
    windows, scratch = task.windows, task.scratch
    for first in range(0, scratch.loose[0], LOOSE_AT_ONCE):
        count_loose(tile, first_row, first, window, windows, scratch)
    if not scratch.own_is_below[0]:
        return
    floor = scratch.rule_thresholds[scratch.lowest_first[scratch.loose[0]]]
    place: Any = np.int64(0)
    while place < len(tile):
        scratch.filled[0] = 0
        place = sift_until_full(tile, place, first_row, floor, window, windows, scratch)
        _count(window, head, task)


@inner
def _count(window: int, head: int, task: Task) -> None:
    """Count the candidates."""
    scratch = task.scratch
    found = scratch.filled[0]
    classes, values = scratch.candidate_classes[:found], scratch.candidates[:found]
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    fill(classes, scratch.loose[0])
    for place in range(scratch.loose[0] + 1, len(scratch.lowest_first)):
        threshold = scratch.rule_thresholds[scratch.lowest_first[place]]
        _raise_class(values, threshold, classes)
    sentences, tokens, high = scratch.sentences, scratch.tokens, scratch.high
    distances, elements = scratch.class_distances, scratch.class_elements
    labels = scratch.class_labels
    for first in range(0, found, _MOST_AT_ONCE):
        fill(labels, 0)
        for index in range(first, min(first + _MOST_AT_ONCE, found)):
            i, j, taken_by = rows[index], columns[index], classes[index]
            distances[taken_by, j - i] += 1
            elements[taken_by, i] += 1
            elements[taken_by, j] += 1
            label = np.int64(sentences[i] == sentences[j])
            label += np.int64(tokens[i] == tokens[j]) << _FIELD
            labels[taken_by] += label + (np.int64(high[i] | high[j]) << 2 * _FIELD)
        for taken_by in range(len(labels)):
            for field in range(3):
                part = (labels[taken_by] >> field * _FIELD) & ((1 << _FIELD) - 1)
                scratch.class_counts[taken_by, field] += part
    _measure_own(window, head, task)


@inner
def _measure_own(window: int, head: int, task: Task) -> None:
    """Measure what is wanted only for the run's own pair rule."""
    windows, layer, outputs, scratch = task
    values, own = scratch.candidates, scratch.rule_thresholds[0]
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    word, lemma, kinds = windows.groups[2, window], windows.groups[3, window], windows.kinds[window]
    groups, touched = outputs.groups[window, head], outputs.touched[window, head]
    element_kinds = outputs.element_kinds[head]
    mass, thresholds = layer.scaled_mass[window, head], layer.thresholds
    sentences, in_sentence = windows.permuted_sentences[window], outputs.permuted_sentences[head]
    first, counted = windows.first[window], windows.counted[window]
    for index in range(scratch.filled[0]):
        if not values[index] >= own:
            continue
        i, j = rows[index], columns[index]
        groups[0, 0] += (word[i] == word[j]) & (word[i] >= 0)
        groups[1, 0] += (lemma[i] == lemma[j]) & (lemma[i] >= 0)
        element_kinds[kinds[i]] += 1
        element_kinds[kinds[j]] += 1
        if j < len(mass):
            largest_mass = max(mass[i], mass[j])
            for threshold in range(len(thresholds)):
                touched[threshold] += largest_mass >= thresholds[threshold]
        _count_equal(sentences[i], sentences[j], in_sentence)
        count_distinct(i, j, first, counted, scratch.partners, scratch.near)


@inner
def _raise_class(values: Floats, threshold: float, classes: Ints) -> None:
    for index in range(len(values)):
        classes[index] += np.uint32(1) if values[index] >= threshold else np.uint32(0)


@inner
def _count_equal(one: Ints, other: Ints, counts: Ints) -> None:
    """Count the permutations under which two tokens belong together."""
    for permutation in range(len(counts)):
        alike = (one[permutation] == other[permutation]) & (one[permutation] >= 0)
        counts[permutation] += np.int32(1) if alike else np.int32(0)


@entry
def count_by_distance(
    counted: NDArray[np.bool_],
    groups: NDArray[np.int64],
    pairs: NDArray[np.float64],
    together: NDArray[np.float64],
) -> None:
    """Count all pairs of counted tokens by distance, and those that belong together.

    Two tokens belong together, in a group, where their ids are equal and not negative.

    Args:
        counted: Which tokens form pairs (window, token).
        groups: The ids (group, window, token).
        pairs: Counts that are added to (window, distance).
        together: Counts of pairs that belong together, added to (group, window, distance).
    """
    n_windows, n = counted.shape
    for window in range(n_windows):
        there, found = counted[window], pairs[window]
        for i in range(n):
            if not there[i]:
                continue
            for j in range(i + 1, n):
                found[j - i] += there[j]
            for group in range(len(groups)):
                ids, alike = groups[group, window], together[group, window]
                if ids[i] >= 0:
                    for j in range(i + 1, n):
                        alike[j - i] += there[j] & (ids[j] == ids[i])
