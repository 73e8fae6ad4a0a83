"""The pairs that loose rules take of some rows of a similarity matrix, counted (compiled).

A loose rule, such as a tenth of the largest similarity, takes most pairs of a text: noting each of
them takes longer than looking at all. So a row is compared as a whole, eight pairs at once, and
four rules share a number, a byte each, as long as no byte can overflow.
"""

from typing import Any

import numpy as np

from headscope.compiled.decorators import inner
from headscope.compiled.layout import BLOCK, LOOSE_AT_ONCE, Floats, Ints, Scratch, Texts
from headscope.compiled.plain_loops import fill
from headscope.compiled.read_line import read_line

_ROWS = 255
"""A row adds at most 1 to a distance or to a token: after so many, bytes are full."""
_COLUMNS = 240
"""So much of a row is counted at once: fewer than fill a byte, in whole blocks."""


@inner
def count_loose(
    tile: Floats, first_row: int, first: int, text: int, texts: Texts, scratch: Scratch
) -> None:
    """Count what some loose rules take of the rows from `first_row` on: four from the `first`.

    `tile` holds the run's similarities, its first column being token `first_row`.
    """
    last = min(first + LOOSE_AT_ONCE, scratch.loose[0])
    fill(scratch.loose_thresholds, np.inf)
    for place in range(first, last):
        threshold = scratch.rule_thresholds[scratch.lowest_first[place]]
        scratch.loose_thresholds[place - first] = threshold
    end, counted, line = texts.end_counted[text], texts.counted[text], scratch.line
    thresholds, high = scratch.loose_thresholds, scratch.high
    sentences, tokens = scratch.sentences, scratch.tokens
    distances, elements = scratch.loose_distances, scratch.loose_elements
    rows = 0
    for place in range(tile.shape[0]):
        i = first_row + place
        if i >= end or not counted[i]:
            continue
        begin = read_line(tile, place, first_row, end, counted, texts.has_holes[text], line)
        for column in range(begin, len(line), _COLUMNS):
            behind = min(column + _COLUMNS, len(line))
            taken, in_sentence, same_token, touched = _compare(
                line[column:behind],
                thresholds,
                sentences[column:behind],
                sentences[i],
                tokens[column:behind],
                tokens[i],
                high[column:behind],
                distances[column - i + BLOCK : behind - i + BLOCK],
                elements[column:behind],
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
    """By rule, a byte each: pairs, those in one sentence, of one token, with high attention."""
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
    """Add the counts of some rows to those of the text, and forget them."""
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
