"""The pairs that rules take of a head's similarity matrix, counted (compiled).

Candidates are all pairs that reach the floor. What rules take of them is counted at once, each pair
in the class of the strictest rule that takes it; the classes are added up when the text is
finished. Rules below the floor need another pass over the rows: `count_loose`, and for the run's
own rule, of whose pairs more is asked, candidates anew.
"""

from typing import Any

import numpy as np

from headscope.compiled.count_loose import count_loose
from headscope.compiled.decorators import inner
from headscope.compiled.layout import LOOSE_AT_ONCE, Floats, Ints, Scratch, Task
from headscope.compiled.plain_loops import fill
from headscope.compiled.sift_rows import keep_from, sift_until_full

_FIELD = 21
"""Three counts in one number, of so many bits each: more than pairs are counted at once."""
_MOST_AT_ONCE = 1 << _FIELD - 1


@inner
def plan_counts(scratch: Scratch) -> None:
    """Decide which rules are counted how; their thresholds are known."""
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
def count_candidates(text: int, head: int, task: Task) -> None:
    """Count what the rules that are not loose take, if all that they take are candidates."""
    scratch = task.scratch
    if scratch.own_is_below[0]:
        return
    keep_from(scratch.rule_thresholds[scratch.lowest_first[scratch.loose[0]]], scratch)
    _count(text, head, task)


@inner
def count_rows(tile: Floats, first_row: int, text: int, head: int, task: Task) -> None:
    """Count what is left to count of the rows from `first_row` on.

    `tile` holds the run's similarities, its first column being token `first_row`.
    """
    texts, scratch = task.texts, task.scratch
    for first in range(0, scratch.loose[0], LOOSE_AT_ONCE):
        count_loose(tile, first_row, first, text, texts, scratch)
    if not scratch.own_is_below[0]:
        return
    floor = scratch.rule_thresholds[scratch.lowest_first[scratch.loose[0]]]
    place: Any = np.int64(0)
    while place < len(tile):
        scratch.filled[0] = 0
        place = sift_until_full(tile, place, first_row, floor, text, texts, scratch)
        _count(text, head, task)


@inner
def _count(text: int, head: int, task: Task) -> None:
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
    _measure_own(text, head, task)


@inner
def _measure_own(text: int, head: int, task: Task) -> None:
    """What is measured for the pairs of the run's own rule alone."""
    texts, layer, outputs, scratch = task
    values, own = scratch.candidates, scratch.rule_thresholds[0]
    rows, columns = scratch.candidate_rows, scratch.candidate_columns
    word, lemma, kinds = texts.groups[2, text], texts.groups[3, text], texts.kinds[text]
    groups, touched = outputs.groups[text, head], outputs.touched[text, head]
    element_kinds = outputs.element_kinds[head]
    mass, thresholds = layer.scaled_mass[text, head], layer.thresholds
    sentences, tokens = texts.permuted_sentences[text], texts.permuted_tokens[text]
    in_sentence, same_token = outputs.permuted_sentences[head], outputs.permuted_tokens[head]
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
        _count_equal(tokens[i], tokens[j], same_token)


@inner
def _raise_class(values: Floats, threshold: float, classes: Ints) -> None:
    for index in range(len(values)):
        classes[index] += np.uint32(1) if values[index] >= threshold else np.uint32(0)


@inner
def _count_equal(one: Ints, other: Ints, counts: Ints) -> None:
    """Count under which permutations two tokens belong together."""
    for permutation in range(len(counts)):
        alike = (one[permutation] == other[permutation]) & (one[permutation] >= 0)
        counts[permutation] += np.int32(1) if alike else np.int32(0)
