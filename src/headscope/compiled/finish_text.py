"""A head and a text between and after the passes over its rows (compiled)."""

import numpy as np
from numba import njit

from headscope.compiled.layout import (
    DISTANCE_SUM,
    FOCAL_ELEMENTS,
    FOCAL_PLACE,
    MASK_PAIRS,
    PAIRS,
    SENTENCE_EXPECTED,
    SENTENCE_PAIRS,
    TOKEN_EXPECTED,
    TOKEN_PAIRS,
    Layer,
    Outputs,
    Scratch,
    Texts,
)
from headscope.compiled.select_largest import largest
from headscope.compiled.sum_rows import most_taken


@njit(cache=True, nogil=True, error_model="numpy")
def begin_text(scratch: Scratch) -> None:
    """Forget the text before."""
    scratch.profile[:] = 0
    scratch.filled[0] = 0
    scratch.floor[0] = -np.inf
    scratch.rule_distances[:] = 0
    scratch.rule_elements[:] = 0
    scratch.rule_counts[:] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def finish_sums(
    text: int, head: int, texts: Texts, layer: Layer, outputs: Outputs, scratch: Scratch
) -> None:
    """After the sums: the text's profile, and the smallest similarity that each rule takes."""
    n = len(scratch.scaled_row)
    outputs.by_distance[head, :n] += scratch.profile[0]
    outputs.within_by_distance[head, :n] += scratch.profile[1]
    _finish_profile(text, head, texts, outputs, scratch)
    thresholds = scratch.rule_thresholds
    # Infinity where a rule takes nothing.
    thresholds[:] = np.inf
    if scratch.filled[0] == 0:
        return
    found = scratch.candidates[: scratch.filled[0]]
    written = largest(found, min(most_taken(text, texts), len(found)), scratch.best)
    top = scratch.best[written - 1]
    for rule in range(len(thresholds)):
        if texts.is_top[rule]:
            thresholds[rule] = scratch.best[written - texts.taken[text, rule]]
        elif top > 0:
            thresholds[rule] = top * layer.rule_values[rule]


@njit(cache=True, nogil=True, error_model="numpy")
def _finish_profile(text: int, head: int, texts: Texts, outputs: Outputs, scratch: Scratch) -> None:
    """Half distance and block contrast of a text."""
    profile = scratch.profile
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
    for rule in range(len(scratch.rule_thresholds)):
        row = outputs.rules[text, head, rule]
        row[FOCAL_PLACE] = -1
        if np.isinf(scratch.rule_thresholds[rule]):
            continue
        counts = scratch.rule_counts[rule]
        row[PAIRS], row[SENTENCE_PAIRS] = counts[0], counts[1]
        row[TOKEN_PAIRS], row[MASK_PAIRS] = counts[2], counts[3]
        distances = scratch.rule_distances[rule]
        distance_sum, sentence, token = 0.0, 0.0, 0.0
        for distance in range(len(distances)):
            pairs = distances[distance]
            distance_sum += pairs * distance
            sentence += pairs * texts.rates[0, text, distance]
            token += pairs * texts.rates[1, text, distance]
        row[DISTANCE_SUM], row[SENTENCE_EXPECTED], row[TOKEN_EXPECTED] = (
            distance_sum,
            sentence,
            token,
        )
        _find_focal(rule, text, texts, outputs.rules[text, head, rule], scratch)
        if rule == 0:
            outputs.distances[head, : len(distances)] += distances
            for group in range(2):
                for distance in range(len(distances)):
                    outputs.groups[text, head, group, 1] += (
                        distances[distance] * texts.rates[group + 2, text, distance]
                    )


@njit(cache=True, nogil=True, error_model="numpy")
def _find_focal(rule: int, text: int, texts: Texts, row: np.ndarray, scratch: Scratch) -> None:
    """The token with the most elements, all its occurrences together; the earliest of equals."""
    elements, first = scratch.rule_elements[rule], texts.first[text]
    for place in range(len(elements)):
        if first[place] != place:
            elements[first[place]] += elements[place]
            elements[place] = 0
    for place in range(len(elements)):
        if elements[place] > row[FOCAL_ELEMENTS]:
            row[FOCAL_ELEMENTS] = elements[place]
            row[FOCAL_PLACE] = place
