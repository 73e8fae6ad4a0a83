"""Baselines that any segmenter must beat, and places in a text that ignore its white space."""

import itertools
import re
from collections.abc import Iterable, Sequence

import numpy as np

from headscope.segment.sentences.candidates import CLOSERS, FULL_WIDTH_ENDS, SPACED_ENDS


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


_SENTENCE_END = re.compile(
    rf"(?<=[{SPACED_ENDS}])[{re.escape(CLOSERS)}]*\s+|(?<=[{FULL_WIDTH_ENDS}])"
)


def punctuation_split(text: str) -> list[str]:
    """The text cut behind every . ! ? that white space follows."""
    edges = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    return [text[first:behind] for first, behind in itertools.pairwise(edges)]


def even_starts(units: int, segments: int) -> list[int]:
    """Where segments begin that are as equal as can be, the first one left out."""
    return sorted({round(units * k / segments) for k in range(1, segments)} - {0, units})


def random_starts(units: int, segments: int, rng: np.random.Generator) -> list[int]:
    """Where so many segments begin, drawn at random; the first one left out."""
    count = min(segments - 1, max(units - 1, 0))
    return sorted((rng.choice(max(units - 1, 0), size=count, replace=False) + 1).tolist())


def words_to_visible(text: str, places: Sequence[int]) -> list[int]:
    """Places counted in words as places counted in visible characters."""
    ends = np.concatenate([[0], np.cumsum([len(word) for word in text.split()])])
    return [int(ends[place]) for place in places]
