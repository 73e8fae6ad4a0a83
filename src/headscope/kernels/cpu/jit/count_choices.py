"""One head of one window under every analysis choice, counted (compiled).

Given the similarities of its pairs, one after the other, under each variant, and what attention
shows of the same pairs; and the threshold of each pair rule in each. Gives the columns of
`headscope.kernels.choices`.
"""

from typing import Any, NamedTuple

import numpy as np

from headscope.kernels.cpu.jit.decorators import entry, inlined, inner, inner_in_any_order
from headscope.kernels.cpu.jit.layout import Doubles, Floats, Ints

COLUMNS = (
    "pairs",
    "distance_sum",
    "same_sentence_pairs",
    "same_sentence_expected",
    "repetition_pairs",
    "repetition_expected",
    "map_pairs",
    "row_pairs",
    "map_shared",
    "row_shared",
    "sentence_beyond_attention",
    "repetition_beyond_attention",
    "sentence_of_map",
    "repetition_of_map",
    "sentence_of_rows",
    "repetition_of_rows",
    "focal_place",
    "common_place",
    "common_pairs",
)
"""What is written for each choice, in this order."""


class WindowPairs(NamedTuple):
    """The pairs of counted tokens of a window, i < j, one after the other."""

    i: Ints  # p
    j: Ints  # p
    distance: Ints  # p
    in_sentence: Doubles  # p: 1 inside one sentence, else 0
    same_token: Doubles  # p
    sentence_excess: Doubles  # p: in_sentence minus the share at this distance
    token_excess: Doubles  # p
    first: Ints  # n: where the token at each place first occurs


class Work(NamedTuple):
    """Work space for one head. A pair's class is the number of rules that take it; since all rules
    compare one number with a threshold, the class says which rules these are."""

    classes: Ints  # 3 p: of each pair by similarity, attention map and attention rows
    masks: Ints  # 3 class: which rules take a pair of a class, a bit each
    order: Ints  # 3 r: rules from the lowest threshold to the highest
    by_class: Doubles  # class 6: sums over the pairs of C
    members: Ints  # 3 class: number of pairs
    elements: Ints  # 2 class n: tokens of all pairs, and of pairs of two different tokens
    shared: Ints  # 2 mask: pairs that C has in common with the map, and with the rows
    alone: Doubles  # 3 mask 2: what pairs of one set alone show


def new_work(pairs: int, tokens: int, rules: int) -> Work:
    """Work space for windows of that many pairs and tokens.

    Args:
        pairs: Number of pairs.
        tokens: Number of tokens.
        rules: Number of pair rules.
    """
    return Work(
        classes=np.zeros((3, pairs), np.uint8),
        # Unsigned: numba then skips its check for negative indices.
        masks=np.zeros((3, rules + 1), np.uint32),
        order=np.zeros((3, rules), np.int64),
        by_class=np.zeros((rules + 1, 6)),
        members=np.zeros((3, rules + 1), np.int64),
        elements=np.zeros((2, rules + 1, tokens), np.int64),
        shared=np.zeros((2, 1 << rules), np.int64),
        alone=np.zeros((3, 1 << rules, 2)),
    )


@entry
def list_pairs(matrices: Floats, pairs: WindowPairs, listed: Floats) -> None:
    """Write the numbers of the pairs one after the other.

    Args:
        matrices: Of each head (head, token, token).
        pairs: Which tokens form pairs.
        listed: Where they are written (head, pair).
    """
    for head in range(len(matrices)):
        matrix, row = matrices[head], listed[head]
        for k in range(len(row)):
            row[k] = matrix[pairs.i[k], pairs.j[k]]


@entry
def count_choices(
    similarities: Floats,
    of_rows: Floats,
    of_map: Floats,
    thresholds: Floats,
    row_thresholds: Floats,
    map_thresholds: Floats,
    pairs: WindowPairs,
    work: Work,
    counts: Doubles,
) -> None:
    """Count the pairs of all heads of a window under each variant and rule.

    Args:
        similarities: C of each pair (head, variant, pair).
        of_rows: The same of attention rows.
        of_map: The same of the attention map (head, pair).
        thresholds: The least similarity that a rule takes (head, variant, rule).
        row_thresholds: The same for attention rows.
        map_thresholds: The same for the attention map (head, rule).
        pairs: What is known of the pairs.
        work: Work space.
        counts: Where `COLUMNS` are written (head, variant, rule, column).
    """
    heads, variants, _ = similarities.shape
    for head in range(heads):
        _classify(of_map[head], map_thresholds[head], 1, work)
        for variant in range(variants):
            _classify(similarities[head, variant], thresholds[head, variant], 0, work)
            _classify(of_rows[head, variant], row_thresholds[head, variant], 2, work)
            _count(pairs, work)
            _write(work, counts[head, variant])


@inner
def _classify(values: Floats, thresholds: Floats, which: int, work: Work) -> None:
    """Find the class of each pair, and which rules take the pairs of each class."""
    order, classes, masks = work.order[which], work.classes[which], work.masks[which]
    for rule in range(len(thresholds)):
        place = rule
        while place > 0 and thresholds[order[place - 1]] > thresholds[rule]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = rule
    masks[0] = 0
    for place in range(len(order)):
        masks[place + 1] = masks[place] | np.uint32(1 << order[place])
    classes[:] = 0
    for rule in range(len(thresholds)):
        _raise_classes(values, thresholds[rule], classes)


@inner
def _raise_classes(values: Floats, threshold: float, classes: Ints) -> None:
    for k in range(len(values)):
        classes[k] += np.uint8(1) if values[k] >= threshold else np.uint8(0)


@inner
def _count(pairs: WindowPairs, work: Work) -> None:
    """Add up the pairs by class, and what sets share or have alone by the rules in question."""
    work.by_class[:] = 0.0
    work.members[:] = 0
    work.elements[:] = 0
    work.shared[:] = 0
    work.alone[:] = 0.0
    by_class, alone, shared, members = work.by_class, work.alone, work.shared, work.members
    for k in range(len(pairs.i)):
        own, of_map, of_rows = work.classes[0, k], work.classes[1, k], work.classes[2, k]
        if not own | of_map | of_rows:
            continue
        ours, theirs, rows = work.masks[0, own], work.masks[1, of_map], work.masks[2, of_rows]
        sentence, token = pairs.sentence_excess[k], pairs.token_excess[k]
        members[0, own] += 1
        members[1, of_map] += 1
        members[2, of_rows] += 1
        if own:
            by_class[own, 0] += pairs.distance[k]
            by_class[own, 1] += pairs.in_sentence[k]
            by_class[own, 2] += sentence
            by_class[own, 3] += pairs.same_token[k]
            by_class[own, 4] += token
            one, other = pairs.first[pairs.i[k]], pairs.first[pairs.j[k]]
            work.elements[0, own, one] += 1
            work.elements[0, own, other] += 1
            if one != other:
                work.elements[1, own, one] += 1
                work.elements[1, own, other] += 1
            shared[0, ours & theirs] += 1
            shared[1, ours & rows] += 1
            _add(sentence, token, ours & ~(theirs | rows), alone[0])
        _add(sentence, token, theirs & ~ours, alone[1])
        _add(sentence, token, rows & ~ours, alone[2])


@inlined
def _add(sentence: float, token: float, mask: int, sums: Doubles) -> None:
    if mask:
        sums[mask, 0] += sentence
        sums[mask, 1] += token


@inner
def _write(work: Work, counts: Doubles) -> None:
    """Write the columns of each rule."""
    rules = len(counts)
    for rule in range(rules):
        counts[rule, :] = 0.0
    # A rule takes the pairs of all classes above its place in the order of thresholds.
    for place in range(rules - 1, -1, -1):
        if place < rules - 1:
            for k in range(work.by_class.shape[1]):
                work.by_class[place + 1, k] += work.by_class[place + 2, k]
            for which in range(3):
                work.members[which, place + 1] += work.members[which, place + 2]
            for token in range(work.elements.shape[2]):
                work.elements[0, place + 1, token] += work.elements[0, place + 2, token]
                work.elements[1, place + 1, token] += work.elements[1, place + 2, token]
        row, sums = counts[work.order[0, place]], work.by_class[place + 1]
        row[0], row[1] = work.members[0, place + 1], sums[0]
        row[2], row[3] = sums[1], sums[1] - sums[2]
        row[4], row[5] = sums[3], sums[3] - sums[4]
        row[16], _ = _most(work.elements[0, place + 1])
        row[17], row[18] = _most(work.elements[1, place + 1])
        counts[work.order[1, place], 6] = work.members[1, place + 1]
        counts[work.order[2, place], 7] = work.members[2, place + 1]
    for mask in range(1, work.alone.shape[1]):
        if _is_empty(mask, work):
            continue
        for rule in range(rules):
            if mask >> rule & 1:
                row = counts[rule]
                row[8] += work.shared[0, mask]
                row[9] += work.shared[1, mask]
                for which in range(3):
                    row[10 + 2 * which] += work.alone[which, mask, 0]
                    row[11 + 2 * which] += work.alone[which, mask, 1]


@inner
def _is_empty(mask: int, work: Work) -> Any:
    for which in range(3):
        if work.alone[which, mask, 0] != 0 or work.alone[which, mask, 1] != 0:
            return False
    return work.shared[0, mask] == 0 and work.shared[1, mask] == 0


@inner
def _most(counts: Ints) -> Any:
    """The first place with the largest count, and that count; -1 if all are 0."""
    most, place = 0, -1
    for k in range(len(counts)):
        if counts[k] > most:
            most, place = counts[k], k
    return place, most


@entry
def contrast_of_sentences(
    similarities: Floats, pairs: WindowPairs, inside: Doubles, sums: Doubles, contrast: Doubles
) -> None:
    """How much more similar two tokens of one sentence are than two of different sentences.

    Args:
        similarities: C of each pair (head, variant, pair).
        pairs: What is known of the pairs.
        inside: Pairs at each distance, and those inside a sentence (2, distance).
        sums: Work space (2, distance).
        contrast: Where the block contrast is written (head, variant); NaN where undefined.
    """
    heads, variants, n_pairs = similarities.shape
    for head in range(heads):
        for variant in range(variants):
            values = similarities[head, variant]
            sums[:] = 0.0
            squares = _squares_around_mean(values)
            for k in range(n_pairs):
                sums[0, pairs.distance[k]] += values[k]
                sums[1, pairs.distance[k]] += values[k] * pairs.in_sentence[k]
            weighted, weights = 0.0, 0.0
            for distance in range(inside.shape[1]):
                within, across = inside[1, distance], inside[0, distance] - inside[1, distance]
                if within > 0 and across > 0:
                    weight = within * across / inside[0, distance]
                    outside = sums[0, distance] - sums[1, distance]
                    weighted += weight * (sums[1, distance] / within - outside / across)
                    weights += weight
            contrast[head, variant] = np.nan
            if n_pairs > 1 and weights > 0 and squares > 0:
                deviation = np.sqrt(squares / (n_pairs - 1))
                contrast[head, variant] = weighted / weights / deviation


@inner_in_any_order
def _squares_around_mean(values: Floats) -> Any:
    summed = 0.0
    for k in range(len(values)):
        summed += values[k]
    mean = summed / max(len(values), 1)
    squares = 0.0
    for k in range(len(values)):
        squares += (values[k] - mean) ** 2
    return squares
