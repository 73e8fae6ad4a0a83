"""Baselines that any segmenter must beat; and places in a text counted in visible characters.

Splitters change white space. Visible characters (all others) are a common scale for boundaries.
"""

import itertools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from headscope.segment.sentences.candidates import SPACED_ENDS
from headscope.text.sentences import CLOSERS, SENTENCE_MARKS


def visible_places(text: str, characters: Sequence[int]) -> list[int]:
    """The number of visible characters before each of some characters.

    >>> visible_places("a b c", [2, 4])
    [1, 2]

    Args:
        text: The text.
        characters: Places in it.
    """
    before = np.concatenate([[0], np.cumsum([not character.isspace() for character in text])])
    return [int(before[character]) for character in characters]


def visible_starts(pieces: Iterable[str]) -> list[int]:
    """Where each piece of a text begins, in visible characters, without the first.

    >>> visible_starts(["One. ", "Two. ", "Three."])
    [4, 8]

    Args:
        pieces: The pieces, in order.
    """
    starts: list[int] = []
    length = 0
    for piece in pieces:
        visible = sum(not character.isspace() for character in piece)
        if visible and length:
            starts.append(length)
        length += visible
    return starts


def word_boundaries(text: str, starts: Sequence[int]) -> np.ndarray:
    """Whether a segment ends after each word of the text but the last.

    >>> word_boundaries("One two. Three.", [7])
    array([False,  True])

    Args:
        text: The text.
        starts: Where segments begin, in visible characters. A start inside a word counts at the end
            of that word.
    """
    ends = np.cumsum([len(word) for word in text.split()])
    boundaries = np.zeros(max(len(ends) - 1, 0), dtype=bool)
    places = np.searchsorted(ends, np.asarray(starts, dtype=np.int64))
    boundaries[places[places < len(boundaries)]] = True
    return boundaries


_SENTENCE_END = re.compile(
    rf"(?<=[{SPACED_ENDS}])[{re.escape(CLOSERS)}]*\s+|(?<=[{SENTENCE_MARKS}])"
)


def punctuation_split(text: str) -> list[str]:
    """The text cut after every . ! ? that is followed by white space.

    >>> punctuation_split("Dr. No? Yes!")
    ['Dr. ', 'No? ', 'Yes!']

    Args:
        text: The text.
    """
    edges = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]


def even_starts(units: int, segments: int) -> list[int]:
    """Where segments of equal length begin, without the first.

    >>> even_starts(units=9, segments=3)
    [3, 6]

    Args:
        units: Number of units, such as words.
        segments: Number of segments.
    """
    return sorted({round(units * k / segments) for k in range(1, segments)} - {0, units})


def random_starts(units: int, segments: int, rng: np.random.Generator) -> list[int]:
    """Where segments begin if drawn at random, without the first.

    Args:
        units: Number of units, such as words.
        segments: Number of segments.
        rng: Draws them.
    """
    count = min(segments - 1, max(units - 1, 0))
    return sorted((rng.choice(max(units - 1, 0), size=count, replace=False) + 1).tolist())


def words_to_visible(text: str, places: Sequence[int]) -> list[int]:
    """Places counted in words, counted in visible characters instead.

    Args:
        text: The text.
        places: The number of words before each place.
    """
    ends = np.concatenate([[0], np.cumsum([len(word) for word in text.split()])])
    return [int(ends[place]) for place in places]
