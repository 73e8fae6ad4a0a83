"""A head and a window before, between and after the passes over its rows (compiled).

Given the sums and candidates in `Scratch`. Gives the threshold of each pair rule, and then the rows
of `Outputs`: profile, counts, expectations, focal and common token.
"""

from typing import Any

import numpy as np

from headscope.kernels.cpu.jit.common_token import find_common
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
    Windows,
)
from headscope.kernels.cpu.jit.sift_rows import drop_below, gather_largest, kth_largest, most_taken
from headscope.kernels.cpu.jit.sum_rows import add, copy, fill, total


@inner
def begin_window(window: int, head: int, task: Task) -> None:
    """Reset the work space, and fill in what is known of the window."""
    windows, layer, scratch = task.windows, task.layer, task.scratch
    n = windows.counted.shape[1]
    _own_group_for_the_rest(windows.groups[0, window], scratch.sentences)
    _own_group_for_the_rest(windows.groups[1, window], scratch.tokens)
    # Cross attention reads other tokens than it writes for: its counts are never shown.
    mass = layer.scaled_mass[window, head]
    for place in range(min(n, len(mass))):
        scratch.high[place] = mass[place] >= layer.thresholds[0]
    copy(layer.scales[window, head], scratch.scales)
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
    fill(scratch.partners, 0)
    fill(scratch.near, 0)


@inner
def _own_group_for_the_rest(groups: Ints, target: Ints) -> None:
    """Copy group ids, giving each token without one its own: equal ids then belong together."""
    for place in range(len(target)):
        grouped = place < len(groups) and groups[place] >= 0
        target[place] = groups[place] if grouped else -2 - place


@inner
def finish_sums(window: int, head: int, task: Task) -> None:
    """After the sums: finish the profile, and find the smallest similarity that each rule takes."""
    scratch = task.scratch
    if task.layer.profiles:
        _finish_profile(window, head, task)
    _find_thresholds(window, task)
    # Insertion sort: there are few thresholds, and they are nearly sorted.
    thresholds, order = scratch.rule_thresholds, scratch.lowest_first
    for rule in range(len(order)):
        place = rule
        while place > 0 and thresholds[order[place - 1]] > thresholds[rule]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = rule
    plan_counts(scratch)


@inner
def _find_thresholds(window: int, task: Task) -> None:
    """Find the smallest similarity that each rule takes; infinity where it takes nothing."""
    windows, scratch = task.windows, task.scratch
    thresholds, taken = scratch.rule_thresholds, windows.taken[window]
    fill(thresholds, np.inf)
    if scratch.filled[0] == 0:
        return
    wanted = min(most_taken(window, windows), scratch.filled[0])
    found = gather_largest(scratch.candidates[: scratch.filled[0]], wanted, scratch.best)
    if found < wanted:
        # There is a NaN among them: the window will be left out.
        return
    best = scratch.best[:found]
    one: Any = np.int64(1)
    top = kth_largest(best, one)
    # Starting with the rule that takes most: the next one need only look among those it took.
    while wanted > 0:
        threshold = kth_largest(best, wanted)
        fewer = 0
        for rule in range(len(thresholds)):
            if windows.is_top[rule] and taken[rule] >= wanted:
                thresholds[rule] = min(thresholds[rule], threshold)
            elif windows.is_top[rule]:
                fewer = max(fewer, taken[rule])
        best, wanted = best[: drop_below(best, threshold)], fewer
    for rule in range(len(thresholds)):
        if not windows.is_top[rule] and top > 0:
            thresholds[rule] = top * task.layer.rule_values[rule]


@inner
def _pairs_inside(window: int, distance: int, windows: Windows) -> Any:
    """Number of pairs of a window at a distance that are within a sentence."""
    return np.floor(
        windows.rates[0, window, distance] * windows.pair_counts[window, distance] + 0.5
    )


@inner
def _finish_profile(window: int, head: int, task: Task) -> None:
    """Add a window's sums by distance to those of the other windows."""
    windows, outputs, scratch = task.windows, task.outputs, task.scratch
    n = windows.counted.shape[1]
    profile = scratch.profile[:, BLOCK : BLOCK + n]
    _measure_profile(profile, scratch.squares[0], window, head, windows, outputs)
    centre = scratch.centre[0]
    for distance in range(n):
        pairs = windows.pair_counts[window, distance]
        inside = _pairs_inside(window, distance, windows)
        outputs.by_distance[head, distance] += profile[0, distance] + centre * pairs
        outputs.within_by_distance[head, distance] += profile[1, distance] + centre * inside


@inner
def _measure_profile(
    profile: Doubles, squares: float, window: int, head: int, windows: Windows, outputs: Outputs
) -> None:
    """Write half distance and block contrast of a window; neither depends on the centre."""
    n = profile.shape[1]
    half_mass = total(profile[2]) / 2
    reached, half = 0.0, 0
    for distance in range(n):
        reached += profile[2, distance]
        if reached < half_mass:
            half += 1
    outputs.half_distance[window, head] = half if half_mass > 0 else np.nan
    summed, count = total(profile[0]), total(windows.pair_counts[window])
    variance = (squares - summed * summed / count) / (count - 1)
    weighted, weights = 0.0, 0.0
    for distance in range(n):
        pairs = windows.pair_counts[window, distance]
        inside = _pairs_inside(window, distance, windows)
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
    outputs.block_contrast[window, head] = (
        weighted / weights / np.sqrt(variance) if defined else np.nan
    )


@inner
def finish_counts(window: int, head: int, task: Task) -> None:
    """After the counts: write the row of each rule, and the common token of the run's own."""
    windows, outputs, scratch = task.windows, task.outputs, task.scratch
    find_common(window, head, task)
    last = len(scratch.lowest_first) - 1
    for place in range(last, -1, -1):
        distances, elements = scratch.class_distances[place], scratch.class_elements[place]
        counts = scratch.class_counts[place]
        # A rule also takes what stricter rules take; loose rules were counted by themselves.
        if scratch.loose[0] <= place < last:
            add(scratch.class_distances[place + 1], distances)
            add(scratch.class_elements[place + 1], elements)
            add(scratch.class_counts[place + 1], counts)
        rule = scratch.lowest_first[place]
        row = outputs.rules[window, head, rule]
        row[FOCAL_PLACE] = -1
        if np.isinf(scratch.rule_thresholds[rule]):
            continue
        row[PAIRS], row[SENTENCE_PAIRS] = total(distances), counts[0]
        row[TOKEN_PAIRS], row[MASK_PAIRS] = counts[1], counts[2]
        row[DISTANCE_SUM] = _distance_sum(distances)
        row[SENTENCE_EXPECTED] = _expected(distances, windows.rates[0, window])
        row[TOKEN_EXPECTED] = _expected(distances, windows.rates[1, window])
        _find_focal(elements, windows.first[window], row)
        if rule == 0:
            add(distances, outputs.distances[head])
            for group in range(2):
                expected = _expected(distances, windows.rates[group + 2, window])
                outputs.groups[window, head, group, 1] = expected


@inner
def _distance_sum(pairs: Ints) -> Any:
    summed: Any = 0
    for distance in range(len(pairs)):
        summed += np.int64(pairs[distance]) * distance
    return summed


@inner_in_any_order
def _expected(pairs: Ints, rates: Doubles) -> Any:
    """Number of pairs that would belong together if distance alone mattered."""
    expected = 0.0
    for distance in range(len(pairs)):
        expected += pairs[distance] * rates[distance]
    return expected


@inner
def _find_focal(elements: Ints, first: Ints, row: Doubles) -> None:
    """Write the token with the most elements, its occurrences added up; the first among equals."""
    for place in range(len(elements)):
        if first[place] != place:
            elements[first[place]] += elements[place]
            elements[place] = 0
    most, focal = 0, -1
    for place in range(len(elements)):
        if elements[place] > most:
            most, focal = elements[place], place
    row[FOCAL_ELEMENTS], row[FOCAL_PLACE] = most, focal
