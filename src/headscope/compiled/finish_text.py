"""A head and a text between and after the passes over its rows (compiled)."""

import numpy as np
from numba import njit

from headscope.compiled.layout import (
    BLOCK,
    DISTANCE_SUM,
    FOCAL_ELEMENTS,
    FOCAL_PLACE,
    MASK_PAIRS,
    PAIRS,
    SENTENCE_EXPECTED,
    SENTENCE_PAIRS,
    TOKEN_EXPECTED,
    TOKEN_PAIRS,
    Doubles,
    Ints,
    Layer,
    Outputs,
    Scratch,
    Texts,
)
from headscope.compiled.select_largest import gather_largest, put_largest_first
from headscope.compiled.sum_rows import most_taken


@njit(cache=True, nogil=True, error_model="numpy")
def begin_text(text: int, head: int, texts: Texts, layer: Layer, scratch: Scratch) -> None:
    """Forget the text before."""
    n = texts.counted.shape[1]
    _own_group_for_the_rest(texts.groups[0, text], scratch.sentences)
    _own_group_for_the_rest(texts.groups[1, text], scratch.tokens)
    # Cross attention reads other tokens than it writes for: what it counts is never shown.
    mass = layer.scaled_mass[text, head]
    for place in range(min(n, len(mass))):
        scratch.high[place] = mass[place] >= layer.thresholds[0]
    scratch.scales[:n] = layer.scales[text, head]
    scratch.scales[n:] = 0
    scratch.profile[:] = 0
    scratch.filled[0] = 0
    scratch.floor[0] = -np.inf
    scratch.class_distances[:] = 0
    scratch.class_elements[:] = 0
    scratch.class_counts[:] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def _own_group_for_the_rest(groups: Ints, target: Ints) -> None:
    """Copy groups, with one of its own for each token that has none: then equal is together."""
    for place in range(len(target)):
        grouped = place < len(groups) and groups[place] >= 0
        target[place] = groups[place] if grouped else -2 - place


@njit(cache=True, nogil=True, error_model="numpy")
def finish_sums(
    text: int, head: int, texts: Texts, layer: Layer, outputs: Outputs, scratch: Scratch
) -> None:
    """After the sums: the text's profile, and the smallest similarity that each rule takes."""
    n = texts.counted.shape[1]
    profile = scratch.profile[:, BLOCK : BLOCK + n]
    outputs.by_distance[head, :n] += profile[0]
    outputs.within_by_distance[head, :n] += profile[1]
    _finish_profile(profile, text, head, texts, outputs)
    _find_thresholds(text, texts, layer, scratch)
    # Few and nearly sorted: by insertion.
    thresholds, order = scratch.rule_thresholds, scratch.lowest_first
    for rule in range(len(order)):
        place = rule
        while place > 0 and thresholds[order[place - 1]] > thresholds[rule]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = rule


@njit(cache=True, nogil=True, error_model="numpy")
def _find_thresholds(text: int, texts: Texts, layer: Layer, scratch: Scratch) -> None:
    """The smallest similarity that each rule takes; infinity where it takes nothing."""
    thresholds, taken = scratch.rule_thresholds, texts.taken[text]
    thresholds[:] = np.inf
    if scratch.filled[0] == 0:
        return
    wanted = min(most_taken(text, texts), scratch.filled[0])
    found = gather_largest(scratch.candidates[: scratch.filled[0]], wanted, scratch.best)
    if found < wanted:
        # NaN among them: the text will be refused.
        return
    # From the rule that takes most: the next one then looks among those taken alone.
    while True:
        threshold = put_largest_first(scratch.best[:found], wanted)
        fewer = 0
        for rule in range(len(thresholds)):
            if texts.is_top[rule] and taken[rule] >= wanted:
                thresholds[rule] = min(thresholds[rule], threshold)
            elif texts.is_top[rule]:
                fewer = max(fewer, taken[rule])
        if fewer == 0:
            break
        found, wanted = wanted, fewer
    top = put_largest_first(scratch.best[:wanted], 1)
    for rule in range(len(thresholds)):
        if not texts.is_top[rule] and top > 0:
            thresholds[rule] = top * layer.rule_values[rule]


@njit(cache=True, nogil=True, error_model="numpy")
def _finish_profile(profile: Doubles, text: int, head: int, texts: Texts, outputs: Outputs) -> None:
    """Half distance and block contrast of a text."""
    n = profile.shape[1]
    half_mass = profile[2].sum() / 2
    reached, half = 0.0, 0
    for distance in range(n):
        reached += profile[2, distance]
        if reached < half_mass:
            half += 1
    outputs.half_distance[text, head] = half if half_mass > 0 else np.nan
    total, count = profile[0].sum(), texts.pair_counts[text].sum()
    variance = (profile[3].sum() - total * total / count) / (count - 1)
    weighted, weights = 0.0, 0.0
    for distance in range(n):
        pairs = texts.pair_counts[text, distance]
        inside = np.round(texts.rates[0, text, distance] * pairs)
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
def finish_counts(text: int, head: int, texts: Texts, outputs: Outputs, scratch: Scratch) -> None:
    """After the counts: the row of each rule."""
    last = len(scratch.lowest_first) - 1
    for place in range(last, -1, -1):
        distances, elements = scratch.class_distances[place], scratch.class_elements[place]
        counts = scratch.class_counts[place]
        # What stricter rules take, this one takes too.
        if place < last:
            distances += scratch.class_distances[place + 1]
            elements += scratch.class_elements[place + 1]
            counts += scratch.class_counts[place + 1]
        rule = scratch.lowest_first[place]
        row = outputs.rules[text, head, rule]
        row[FOCAL_PLACE] = -1
        if np.isinf(scratch.rule_thresholds[rule]):
            continue
        row[PAIRS], row[SENTENCE_PAIRS] = distances.sum(), counts[1]
        row[TOKEN_PAIRS], row[MASK_PAIRS] = counts[2], counts[3]
        for distance in range(len(distances)):
            row[DISTANCE_SUM] += distances[distance] * distance
        row[SENTENCE_EXPECTED] = _expected(distances, texts.rates[0, text])
        row[TOKEN_EXPECTED] = _expected(distances, texts.rates[1, text])
        _find_focal(elements, texts.first[text], row)
        if rule == 0:
            outputs.distances[head, : len(distances)] += distances
            for group in range(2):
                expected = _expected(distances, texts.rates[group + 2, text])
                outputs.groups[text, head, group, 1] = expected


@njit(cache=True, nogil=True, error_model="numpy")
def _expected(pairs: Ints, rates: Doubles) -> float:
    """How many of the pairs would belong together if distance alone mattered."""
    # Four sums at a time: one alone would wait for each addition.
    sums = np.zeros(4)
    whole = len(pairs) // 4 * 4
    for distance in range(0, whole, 4):
        for part in range(4):
            sums[part] += pairs[distance + part] * rates[distance + part]
    for distance in range(whole, len(pairs)):
        sums[0] += pairs[distance] * rates[distance]
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


@njit(cache=True, nogil=True, error_model="numpy")
def _find_focal(elements: Ints, first: Ints, row: Doubles) -> None:
    """The token with the most elements, all its occurrences together; the earliest of equals."""
    for place in range(len(elements)):
        if first[place] != place:
            elements[first[place]] += elements[place]
            elements[place] = 0
    most, focal = 0, -1
    for place in range(len(elements)):
        if elements[place] > most:
            most, focal = elements[place], place
    row[FOCAL_ELEMENTS], row[FOCAL_PLACE] = most, focal
