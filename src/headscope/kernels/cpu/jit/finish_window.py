"""A head and a text between and after the passes over its rows (compiled)."""

from typing import Any

import numpy as np

from headscope.kernels.cpu.jit.count_pairs import plan_counts
from headscope.kernels.cpu.jit.decorators import inner, inner_in_any_order
from headscope.kernels.cpu.jit.layout import (
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
    Outputs,
    Task,
    Texts,
)
from headscope.kernels.cpu.jit.loops import add, copy, fill, total
from headscope.kernels.cpu.jit.sift_rows import drop_below, gather_largest, kth_largest, most_taken


@inner
def begin_window(text: int, head: int, task: Task) -> None:
    """Forget the text before."""
    texts, layer, scratch = task.texts, task.layer, task.scratch
    n = texts.counted.shape[1]
    _own_group_for_the_rest(texts.groups[0, text], scratch.sentences)
    _own_group_for_the_rest(texts.groups[1, text], scratch.tokens)
    # Cross attention reads other tokens than it writes for: what it counts is never shown.
    mass = layer.scaled_mass[text, head]
    for place in range(min(n, len(mass))):
        scratch.high[place] = mass[place] >= layer.thresholds[0]
    copy(layer.scales[text, head], scratch.scales)
    fill(scratch.scales[n:], 0)
    for part in range(len(scratch.profile)):
        fill(scratch.profile[part], 0)
    scratch.squares[0] = 0
    scratch.filled[0] = 0
    scratch.floor[0] = -np.inf
    for rule in range(len(scratch.class_counts)):
        fill(scratch.class_distances[rule], 0)
        fill(scratch.class_elements[rule], 0)
        fill(scratch.class_counts[rule], 0)


@inner
def _own_group_for_the_rest(groups: Ints, target: Ints) -> None:
    """Copy groups, with one of its own for each token that has none: then equal is together."""
    for place in range(len(target)):
        grouped = place < len(groups) and groups[place] >= 0
        target[place] = groups[place] if grouped else -2 - place


@inner
def finish_sums(text: int, head: int, task: Task) -> None:
    """After the sums: the text's profile, and the smallest similarity that each rule takes."""
    scratch = task.scratch
    if task.layer.profiles:
        _finish_profile(text, head, task)
    _find_thresholds(text, task)
    # Few and nearly sorted: by insertion.
    thresholds, order = scratch.rule_thresholds, scratch.lowest_first
    for rule in range(len(order)):
        place = rule
        while place > 0 and thresholds[order[place - 1]] > thresholds[rule]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = rule
    plan_counts(scratch)


@inner
def _find_thresholds(text: int, task: Task) -> None:
    """The smallest similarity that each rule takes; infinity where it takes nothing."""
    texts, scratch = task.texts, task.scratch
    thresholds, taken = scratch.rule_thresholds, texts.taken[text]
    fill(thresholds, np.inf)
    if scratch.filled[0] == 0:
        return
    wanted = min(most_taken(text, texts), scratch.filled[0])
    found = gather_largest(scratch.candidates[: scratch.filled[0]], wanted, scratch.best)
    if found < wanted:
        # NaN among them: the text will be refused.
        return
    best = scratch.best[:found]
    one: Any = np.int64(1)
    top = kth_largest(best, one)
    # From the rule that takes most: the next one then looks among those taken alone.
    while wanted > 0:
        threshold = kth_largest(best, wanted)
        fewer = 0
        for rule in range(len(thresholds)):
            if texts.is_top[rule] and taken[rule] >= wanted:
                thresholds[rule] = min(thresholds[rule], threshold)
            elif texts.is_top[rule]:
                fewer = max(fewer, taken[rule])
        best, wanted = best[: drop_below(best, threshold)], fewer
    for rule in range(len(thresholds)):
        if not texts.is_top[rule] and top > 0:
            thresholds[rule] = top * task.layer.rule_values[rule]


@inner
def _pairs_inside(text: int, distance: int, texts: Texts) -> Any:
    """How many pairs of a text at a distance are within a sentence."""
    return np.floor(texts.rates[0, text, distance] * texts.pair_counts[text, distance] + 0.5)


@inner
def _finish_profile(text: int, head: int, task: Task) -> None:
    """Add a text's sums by distance to those of the others."""
    texts, outputs, scratch = task.texts, task.outputs, task.scratch
    n = texts.counted.shape[1]
    profile = scratch.profile[:, BLOCK : BLOCK + n]
    _measure_profile(profile, scratch.squares[0], text, head, texts, outputs)
    centre = scratch.centre[0]
    for distance in range(n):
        pairs = texts.pair_counts[text, distance]
        inside = _pairs_inside(text, distance, texts)
        outputs.by_distance[head, distance] += profile[0, distance] + centre * pairs
        outputs.within_by_distance[head, distance] += profile[1, distance] + centre * inside


@inner
def _measure_profile(
    profile: Doubles, squares: float, text: int, head: int, texts: Texts, outputs: Outputs
) -> None:
    """Half distance and block contrast of a text: neither depends on the centre."""
    n = profile.shape[1]
    half_mass = total(profile[2]) / 2
    reached, half = 0.0, 0
    for distance in range(n):
        reached += profile[2, distance]
        if reached < half_mass:
            half += 1
    outputs.half_distance[text, head] = half if half_mass > 0 else np.nan
    summed, count = total(profile[0]), total(texts.pair_counts[text])
    variance = (squares - summed * summed / count) / (count - 1)
    weighted, weights = 0.0, 0.0
    for distance in range(n):
        pairs = texts.pair_counts[text, distance]
        inside = _pairs_inside(text, distance, texts)
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


@inner
def finish_counts(text: int, head: int, task: Task) -> None:
    """After the counts: the row of each rule."""
    texts, outputs, scratch = task.texts, task.outputs, task.scratch
    last = len(scratch.lowest_first) - 1
    for place in range(last, -1, -1):
        distances, elements = scratch.class_distances[place], scratch.class_elements[place]
        counts = scratch.class_counts[place]
        # What stricter rules take, this one takes too; loose rules have been counted by themselves.
        if scratch.loose[0] <= place < last:
            add(scratch.class_distances[place + 1], distances)
            add(scratch.class_elements[place + 1], elements)
            add(scratch.class_counts[place + 1], counts)
        rule = scratch.lowest_first[place]
        row = outputs.rules[text, head, rule]
        row[FOCAL_PLACE] = -1
        if np.isinf(scratch.rule_thresholds[rule]):
            continue
        row[PAIRS], row[SENTENCE_PAIRS] = total(distances), counts[0]
        row[TOKEN_PAIRS], row[MASK_PAIRS] = counts[1], counts[2]
        row[DISTANCE_SUM] = _distance_sum(distances)
        row[SENTENCE_EXPECTED] = _expected(distances, texts.rates[0, text])
        row[TOKEN_EXPECTED] = _expected(distances, texts.rates[1, text])
        _find_focal(elements, texts.first[text], row)
        if rule == 0:
            add(distances, outputs.distances[head])
            for group in range(2):
                expected = _expected(distances, texts.rates[group + 2, text])
                outputs.groups[text, head, group, 1] = expected


@inner
def _distance_sum(pairs: Ints) -> Any:
    summed: Any = 0
    for distance in range(len(pairs)):
        summed += np.int64(pairs[distance]) * distance
    return summed


@inner_in_any_order
def _expected(pairs: Ints, rates: Doubles) -> Any:
    """How many of the pairs would belong together if distance alone mattered."""
    expected = 0.0
    for distance in range(len(pairs)):
        expected += pairs[distance] * rates[distance]
    return expected


@inner
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
