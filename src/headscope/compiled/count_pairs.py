"""The pairs that the rules take of some rows of a head's similarity matrix, counted (compiled).

Rules are nested: a pair is counted once, in the class of the strictest rule that takes it, and the
classes are added up when the text is finished.
"""

import numpy as np

from headscope.compiled.decorators import inner
from headscope.compiled.layout import (
    Doubles,
    Floats,
    Ints,
    Layer,
    Outputs,
    Scratch,
    Texts,
    Truths,
)
from headscope.compiled.plain_loops import fill

_FIELD = 21
"""Three counts in one number, of so many bits each: more than pairs are counted at once."""


@inner
def count_pairs(
    tile: Floats,
    first_row: int,
    text: int,
    head: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """Count what the rules take of the rows from `first_row` on.

    `tile` holds the run's similarities, its first column being token `first_row`.
    """
    end, counted = texts.end_counted[text], texts.counted[text]
    lowest = scratch.rule_thresholds[scratch.lowest_first[0]]
    values, rows, columns = scratch.pair_values, scratch.pair_rows, scratch.pair_columns
    room, found = len(values) - len(scratch.line), 0
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        row = tile[place, place + 1 : end - first_row]
        if texts.has_holes[text]:
            row = _without_holes(row, counted[i + 1 : end], scratch.line)
        before = found
        found = _collect(row, lowest, i + 1, values, columns, found)
        for index in range(before, found):
            rows[index] = i
        if found > room:
            _count(found, text, head, texts, layer, outputs, scratch)
            found = 0
    _count(found, text, head, texts, layer, outputs, scratch)


@inner
def count_candidates(
    text: int, head: int, texts: Texts, layer: Layer, outputs: Outputs, scratch: Scratch
) -> None:
    """Count what the rules take of the candidates: all that there is, if their places are known."""
    n = texts.counted.shape[1]
    lowest = scratch.rule_thresholds[scratch.lowest_first[0]]
    values, rows, columns = scratch.pair_values, scratch.pair_rows, scratch.pair_columns
    found = 0
    for index in range(scratch.filled[0]):
        if not scratch.candidates[index] >= lowest:
            continue
        values[found] = scratch.candidates[index]
        rows[found] = scratch.candidate_places[index] // n
        columns[found] = scratch.candidate_places[index] % n
        found += 1
        if found == len(values):
            _count(found, text, head, texts, layer, outputs, scratch)
            found = 0
    _count(found, text, head, texts, layer, outputs, scratch)


@inner
def _without_holes(row: Floats, counted: Truths, line: Floats) -> Floats:
    """The row with minus infinity where no token is counted: no rule takes that."""
    for k in range(len(row)):
        line[k] = row[k] if counted[k] else -np.inf
    return line[: len(row)]


@inner
def _collect(
    row: Floats, lowest: float, column: int, values: Floats, columns: Ints, found: int
) -> int:
    """Note the pairs of a row that any rule takes; how many are noted now."""
    # Every pair is written and most are written over: cheaper than a branch that nobody foresees.
    for k in range(len(row)):
        values[found] = row[k]
        columns[found] = column + k
        found += int(row[k] >= lowest)
    return found


@inner
def _count(
    found: int,
    text: int,
    head: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """Count the pairs that were noted."""
    classes, values = scratch.pair_classes[:found], scratch.pair_values[:found]
    rows, columns = scratch.pair_rows, scratch.pair_columns
    fill(classes, 0)
    for place in range(1, len(scratch.lowest_first)):
        threshold = scratch.rule_thresholds[scratch.lowest_first[place]]
        _raise_class(values, threshold, classes)
    sentences, tokens, high = scratch.sentences, scratch.tokens, scratch.high
    distances, elements = scratch.class_distances, scratch.class_elements
    labels = scratch.class_labels
    fill(labels, 0)
    for index in range(found):
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
    _measure_own(found, text, head, texts, layer, outputs, scratch)


@inner
def _measure_own(
    found: int,
    text: int,
    head: int,
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    scratch: Scratch,
) -> None:
    """What is measured for the pairs of the run's own rule alone."""
    values, own = scratch.pair_values, scratch.rule_thresholds[0]
    rows, columns = scratch.pair_rows, scratch.pair_columns
    word, lemma, kinds = texts.groups[2, text], texts.groups[3, text], texts.kinds[text]
    groups, touched = outputs.groups[text, head], outputs.touched[text, head]
    element_kinds = outputs.element_kinds[head]
    mass, thresholds = layer.scaled_mass[text, head], layer.thresholds
    sentences, tokens = texts.permuted_sentences[text], texts.permuted_tokens[text]
    in_sentence, same_token = outputs.permuted_sentences[head], outputs.permuted_tokens[head]
    for index in range(found):
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
def _count_equal(one: Ints, other: Ints, counts: Doubles) -> None:
    """Count under which permutations two tokens belong together."""
    for permutation in range(len(counts)):
        alike = (one[permutation] == other[permutation]) & (one[permutation] >= 0)
        counts[permutation] += 1.0 if alike else 0.0
