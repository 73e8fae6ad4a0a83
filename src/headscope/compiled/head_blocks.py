"""The pass over each head's similarity matrix while it is in cache (compiled).

One call measures all heads of a layer over a batch. Threads share out the heads, so that sums over
texts need no locks and come out the same whatever the number of threads.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from headscope.compiled.select_largest import largest

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Doubles = NDArray[np.float64]

RAW, CENTRED, COSINE = 0, 1, 2

PAIRS, DISTANCE_SUM, SENTENCE_PAIRS, SENTENCE_EXPECTED = 0, 1, 2, 3
TOKEN_PAIRS, TOKEN_EXPECTED, FOCAL_PLACE, FOCAL_ELEMENTS, MASK_PAIRS = 4, 5, 6, 7, 8
RULE_COLUMNS = 9
"""The columns of `Outputs.rules`."""


class Inputs(NamedTuple):
    """What the pass reads. Axes: b text, h head, n token, g group, r rule, p permutation."""

    raw: Floats  # b h n n, zero diagonal
    centred: Floats  # b h n n, zero diagonal
    inverse_norms: Floats  # b h n
    variant: int
    counted: NDArray[np.bool_]  # b n
    groups: Ints  # g b n: sentence, token, word, lemma
    rates: Doubles  # g b distance
    pair_counts: Doubles  # b distance
    first: Ints  # b n
    kinds: Ints  # b n
    starts: Ints  # b n: 1 where a sentence begins behind another
    scaled_mass: Floats  # b h n
    thresholds: Floats  # attention thresholds; the first is the run's own
    is_top: NDArray[np.bool_]  # r; the first rule is the run's own
    rule_values: Floats  # r: the fraction of the largest, for rules of that kind
    taken: Ints  # b r: pairs that a top rule takes of a text
    permuted_sentences: Ints  # b n p
    permuted_tokens: Ints  # b n p


class Outputs(NamedTuple):
    """What the pass writes; all zero at first."""

    rules: Doubles  # b h r column
    groups: Doubles  # b h group (pairs, expected): word and lemma
    touched: Doubles  # b h threshold: pairs of the run's rule that touch a high-attention token
    half_distance: Doubles  # b h
    block_contrast: Doubles  # b h
    position_sums: Doubles  # h variant n n, upper triangle
    aligned_sums: Doubles  # h offset offset
    by_distance: Doubles  # h distance
    within_by_distance: Doubles  # h distance
    distances: Doubles  # h distance
    element_kinds: Doubles  # h kind
    permuted_sentences: Doubles  # h p
    permuted_tokens: Doubles  # h p


class _Scratch(NamedTuple):
    """Work space of one head, used for one text after another."""

    matrix: Floats  # n n: the similarity of the run's variant
    values: Floats  # one per pair, in the order of the pairs
    work: Floats
    best: Floats
    by_distance: Doubles  # all, within a sentence, positive part, squares
    level_distances: Ints  # level distance
    level_elements: Ints  # level token
    level_counts: Ints  # level (pairs, sentence, token, mask)
    chosen_i: Ints
    chosen_j: Ints


@njit(parallel=True, cache=True, nogil=True, error_model="numpy")
def measure_heads(inputs: Inputs, outputs: Outputs) -> None:
    """Measure all heads of a layer over a batch of texts."""
    for head in prange(inputs.raw.shape[1]):
        _measure_head(head, inputs, outputs)


@njit(cache=True, nogil=True, error_model="numpy")
def _measure_head(head: int, inputs: Inputs, outputs: Outputs) -> None:
    texts, _, n, _ = inputs.raw.shape
    rules = len(inputs.is_top)
    pairs = n * (n - 1) // 2
    kind = inputs.raw.dtype
    scratch = _Scratch(
        np.empty((n, n), kind),
        np.empty(pairs, kind),
        np.empty(pairs, kind),
        np.empty(pairs, kind),
        np.empty((4, n), np.float64),
        np.empty((rules + 1, n), np.int64),
        np.empty((rules + 1, n), np.int64),
        np.empty((rules + 1, 4), np.int64),
        np.empty(pairs, np.int64),
        np.empty(pairs, np.int64),
    )
    for text in range(texts):
        count = _sum_similarity(head, text, inputs, outputs, scratch)
        _finish_profile(head, text, inputs, outputs, scratch, count)
        _sum_around_boundaries(head, text, inputs, outputs, scratch)
        thresholds = _rule_thresholds(text, inputs, scratch, count)
        chosen = _choose_pairs(head, text, inputs, scratch, thresholds)
        _finish_rules(head, text, inputs, outputs, scratch, thresholds)
        _measure_chosen(head, text, inputs, outputs, scratch, chosen)


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_similarity(
    head: int, text: int, inputs: Inputs, outputs: Outputs, scratch: _Scratch
) -> int:
    """Number of pairs of counted tokens; sums by position and distance are made on the way."""
    n = inputs.raw.shape[2]
    raw, centred = inputs.raw[text, head], inputs.centred[text, head]
    inverse = inputs.inverse_norms[text, head]
    counted, sentence = inputs.counted[text], inputs.groups[0, text]
    sums = outputs.position_sums[head]
    profile = scratch.by_distance
    profile[:] = 0
    matrix = scratch.matrix
    count = 0
    for i in range(n):
        if not counted[i]:
            continue
        scale = inverse[i]
        row = matrix[i]
        for j in range(i + 1, n):
            if not counted[j]:
                continue
            cosine = raw[i, j] * scale * inverse[j]
            sums[0, i, j] += raw[i, j]
            sums[1, i, j] += centred[i, j]
            sums[2, i, j] += cosine
            if inputs.variant == RAW:
                value = raw[i, j]
            elif inputs.variant == CENTRED:
                value = centred[i, j]
            else:
                value = cosine
            row[j] = value
            scratch.values[count] = value
            count += 1
            wide = np.float64(value)
            profile[0, j - i] += wide
            if sentence[i] == sentence[j] and sentence[i] >= 0:
                profile[1, j - i] += wide
            if wide > 0:
                profile[2, j - i] += wide
            profile[3, j - i] += wide * wide
    outputs.by_distance[head, :n] += profile[0]
    outputs.within_by_distance[head, :n] += profile[1]
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _finish_profile(
    head: int, text: int, inputs: Inputs, outputs: Outputs, scratch: _Scratch, count: int
) -> None:
    """Half distance and block contrast of a text."""
    n = inputs.raw.shape[2]
    profile = scratch.by_distance
    positive = profile[2].sum()
    reached, half = 0.0, 0
    for distance in range(n):
        reached += profile[2, distance]
        if reached < positive / 2:
            half += 1
    outputs.half_distance[text, head] = half if positive > 0 else np.nan
    total = profile[0].sum()
    variance = (profile[3].sum() - total * total / count) / (count - 1)
    weighted, weights = 0.0, 0.0
    for distance in range(n):
        pairs = inputs.pair_counts[text, distance]
        inside = np.round(inputs.rates[0, text, distance] * pairs)
        across = pairs - inside
        if inside > 0 and across > 0:
            difference = (
                profile[1, distance] / inside
                - (profile[0, distance] - profile[1, distance]) / across
            )
            weight = inside * across / pairs
            weighted += weight * difference
            weights += weight
    defined = count > 1 and weights > 0 and variance > 0
    outputs.block_contrast[text, head] = (
        weighted / weights / np.sqrt(variance) if defined else np.nan
    )


@njit(cache=True, nogil=True, error_model="numpy")
def _sum_around_boundaries(
    head: int, text: int, inputs: Inputs, outputs: Outputs, scratch: _Scratch
) -> None:
    n = inputs.raw.shape[2]
    sums = outputs.aligned_sums[head]
    half = sums.shape[0] // 2
    counted, matrix = inputs.counted[text], scratch.matrix
    for start in range(n):
        if not inputs.starts[text, start]:
            continue
        first, last = max(0, start - half), min(n, start + half)
        for i in range(first, last):
            if not counted[i]:
                continue
            for j in range(i + 1, last):
                if counted[j]:
                    sums[i - start + half, j - start + half] += matrix[i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _rule_thresholds(text: int, inputs: Inputs, scratch: _Scratch, count: int) -> Floats:
    """The smallest similarity that each rule takes; infinity where it takes nothing."""
    rules = len(inputs.is_top)
    thresholds = np.full(rules, np.inf, inputs.raw.dtype)
    if count == 0:
        return thresholds
    most = 1
    for rule in range(rules):
        if inputs.is_top[rule]:
            most = max(most, inputs.taken[text, rule])
    scratch.work[:count] = scratch.values[:count]
    written = largest(scratch.work[:count], most, scratch.best)
    top = scratch.best[written - 1]
    for rule in range(rules):
        if inputs.is_top[rule]:
            thresholds[rule] = scratch.best[written - inputs.taken[text, rule]]
        elif top > 0:
            thresholds[rule] = top * inputs.rule_values[rule]
    return thresholds


@njit(cache=True, nogil=True, error_model="numpy")
def _choose_pairs(
    head: int, text: int, inputs: Inputs, scratch: _Scratch, thresholds: Floats
) -> int:
    """Number of pairs of the run's own rule; the pairs of all rules are counted by level.

    The level of a pair is the number of thresholds that it reaches; what a rule takes is the sum
    of the levels above the rank of its threshold.
    """
    n = inputs.raw.shape[2]
    ranked = np.sort(thresholds)
    own, lowest = thresholds[0], ranked[0]
    counted, first = inputs.counted[text], inputs.first[text]
    sentence, token = inputs.groups[0, text], inputs.groups[1, text]
    high = inputs.scaled_mass[text, head] >= inputs.thresholds[0]
    distances, elements = scratch.level_distances, scratch.level_elements
    counts = scratch.level_counts
    distances[:] = 0
    elements[:] = 0
    counts[:] = 0
    chosen = 0
    place = 0
    for i in range(n):
        if not counted[i]:
            continue
        for j in range(i + 1, n):
            if not counted[j]:
                continue
            value = scratch.values[place]
            place += 1
            if not value >= lowest:
                continue
            level = 1
            while level < len(ranked) and value >= ranked[level]:
                level += 1
            counts[level, 0] += 1
            counts[level, 1] += sentence[i] == sentence[j] and sentence[i] >= 0
            counts[level, 2] += token[i] == token[j] and token[i] >= 0
            counts[level, 3] += high[i] or high[j]
            distances[level, j - i] += 1
            elements[level, first[i]] += 1
            elements[level, first[j]] += 1
            if value >= own:
                scratch.chosen_i[chosen] = i
                scratch.chosen_j[chosen] = j
                chosen += 1
    for level in range(len(ranked) - 1, 0, -1):
        counts[level] += counts[level + 1]
        distances[level] += distances[level + 1]
        elements[level] += elements[level + 1]
    return chosen


@njit(cache=True, nogil=True, error_model="numpy")
def _finish_rules(
    head: int,
    text: int,
    inputs: Inputs,
    outputs: Outputs,
    scratch: _Scratch,
    thresholds: Floats,
) -> None:
    n = inputs.raw.shape[2]
    ranked = np.sort(thresholds)
    for rule in range(len(thresholds)):
        row = outputs.rules[text, head, rule]
        row[FOCAL_PLACE] = -1
        if np.isinf(thresholds[rule]):
            continue
        # Equal thresholds share a level: the first rank of this one counts all that reach it.
        level = 1
        while ranked[level - 1] < thresholds[rule]:
            level += 1
        row[PAIRS] = scratch.level_counts[level, 0]
        row[SENTENCE_PAIRS] = scratch.level_counts[level, 1]
        row[TOKEN_PAIRS] = scratch.level_counts[level, 2]
        row[MASK_PAIRS] = scratch.level_counts[level, 3]
        for distance in range(n):
            pairs = scratch.level_distances[level, distance]
            row[DISTANCE_SUM] += pairs * distance
            row[SENTENCE_EXPECTED] += pairs * inputs.rates[0, text, distance]
            row[TOKEN_EXPECTED] += pairs * inputs.rates[1, text, distance]
        for place in range(n):
            if scratch.level_elements[level, place] > row[FOCAL_ELEMENTS]:
                row[FOCAL_ELEMENTS] = scratch.level_elements[level, place]
                row[FOCAL_PLACE] = place
        if rule == 0:
            outputs.distances[head, :n] += scratch.level_distances[level]
            for group in range(2):
                for distance in range(n):
                    outputs.groups[text, head, group, 1] += (
                        scratch.level_distances[level, distance]
                        * inputs.rates[group + 2, text, distance]
                    )


@njit(cache=True, nogil=True, error_model="numpy")
def _measure_chosen(
    head: int, text: int, inputs: Inputs, outputs: Outputs, scratch: _Scratch, chosen: int
) -> None:
    """What is measured for the pairs of the run's own rule alone."""
    word, lemma = inputs.groups[2, text], inputs.groups[3, text]
    kinds = inputs.kinds[text]
    mass = inputs.scaled_mass[text, head]
    for index in range(chosen):
        i, j = scratch.chosen_i[index], scratch.chosen_j[index]
        outputs.groups[text, head, 0, 0] += word[i] == word[j] and word[i] >= 0
        outputs.groups[text, head, 1, 0] += lemma[i] == lemma[j] and lemma[i] >= 0
        outputs.element_kinds[head, kinds[i]] += 1
        outputs.element_kinds[head, kinds[j]] += 1
        # Cross attention has no mask: its keys are other tokens.
        if len(mass) > max(i, j):
            largest_mass = max(mass[i], mass[j])
            for threshold in range(len(inputs.thresholds)):
                outputs.touched[text, head, threshold] += (
                    largest_mass >= inputs.thresholds[threshold]
                )
        one, other = inputs.permuted_sentences[text, i], inputs.permuted_sentences[text, j]
        for permutation in range(len(one)):
            outputs.permuted_sentences[head, permutation] += (
                one[permutation] == other[permutation] and one[permutation] >= 0
            )
        one, other = inputs.permuted_tokens[text, i], inputs.permuted_tokens[text, j]
        for permutation in range(len(one)):
            outputs.permuted_tokens[head, permutation] += (
                one[permutation] == other[permutation] and one[permutation] >= 0
            )
