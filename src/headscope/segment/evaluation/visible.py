"""Visible characters: places in a text that do not depend on its white space.

Splitters differ in where the space between two sentences goes, and texts are put on one line.
Counting visible characters alone makes all of them comparable.
"""

from collections.abc import Iterable, Sequence

import numpy as np


def visible_places(text: str, characters: Sequence[int]) -> list[int]:
    """How many visible characters of the text lie before each character."""
    before = np.concatenate([[0], np.cumsum([not character.isspace() for character in text])])
    return [int(before[character]) for character in characters]


def visible_starts(pieces: Iterable[str]) -> list[int]:
    """Where each of the pieces of a text but the first begins, in visible characters."""
    starts: list[int] = []
    length = 0
    for piece in pieces:
        visible = sum(not character.isspace() for character in piece)
        if visible and length:
            starts.append(length)
        length += visible
    return starts


def word_boundaries(text: str, starts: Sequence[int]) -> np.ndarray:
    """Whether a segment ends behind each word of the text but the last.

    `starts` are in visible characters; one that lies inside a word counts at the end of that word.
    """
    ends = np.cumsum([len(word) for word in text.split()])
    boundaries = np.zeros(max(len(ends) - 1, 0), dtype=bool)
    places = np.searchsorted(ends, np.asarray(starts, dtype=np.int64))
    boundaries[places[places < len(boundaries)]] = True
    return boundaries
