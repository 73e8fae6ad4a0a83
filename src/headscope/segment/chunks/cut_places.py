"""Cut places: where a chunk may begin, and what a cut there is worth."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

TOPIC, HEADING, PARAGRAPH, SENTENCE = 2.0, 0.5, 0.1, 0.0
UNDER_HEADING, LINE, CLAUSE, WORD, CHARACTER = -50.0, -80.0, -90.0, -100.0, -10_000.0
"""What a cut is worth: at a topic, before a heading, before other blocks, at sentences; between a
heading and its text, at a line end inside a sentence or code, after a comma, between words, inside
a word. A chunk that is half empty costs 0.25, an empty one 1 (see `pack`): so a cut at a topic is
always worth a chunk more, one between words never is."""

DOUBT = 0.2
"""What a sentence boundary loses, times the probability that it is none."""

_WORD = re.compile(r"(?<=\s)\S")
_CLAUSE_MARKS = frozenset(",;:–—、，；：")  # noqa: RUF001
_MOST_PLACES = 4_096
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, eq=False, slots=True)
class CutPlaces:
    """Places at which a chunk may begin, in order, neither the start nor the end of the text."""

    characters: Int64[np.ndarray, " place"]
    gains: Float64[np.ndarray, " place"]

    def __len__(self) -> int:
        return len(self.characters)

    @classmethod
    def of(cls, characters: Sequence[int], gains: Sequence[float]) -> "CutPlaces":
        """The places as arrays.

        Args:
            characters: In order.
            gains: What a cut at each is worth.
        """
        return cls(np.array(characters, dtype=np.int64), np.array(gains, dtype=np.float64))

    def merged(self, *others: "CutPlaces") -> "CutPlaces":
        """These places and others; of two at one character, the first counts.

        Args:
            others: More places.
        """
        together = (self, *others)
        characters = np.concatenate([places.characters for places in together])
        gains = np.concatenate([places.gains for places in together])
        unique, first = np.unique(characters, return_index=True)
        return CutPlaces(unique, gains[first])


def word_places(text: str, start: int, end: int) -> CutPlaces:
    """The first character of each word in a part of a text, after the first.

    Args:
        text: The text.
        start: Where the part begins.
        end: Where it ends.
    """
    characters = [found.start() for found in _WORD.finditer(text, start + 1, end)]
    return CutPlaces.of(characters, [_word_gain(text[max(start, p - 32) : p]) for p in characters])


def _word_gain(before: str) -> float:
    visible = before.rstrip()
    if "\n" in before[len(visible) :]:
        return LINE
    return CLAUSE if visible[-1:] in _CLAUSE_MARKS else WORD


def even_places(text: str, start: int, end: int, parts: int) -> CutPlaces:
    """Places that cut a part of a text into equal parts, in characters; never inside a letter.

    Args:
        text: The text.
        start: Where the part begins.
        end: Where it ends.
        parts: Number of parts; at most one for each character, and 4,096.
    """
    parts = min(parts, end - start, _MOST_PLACES)
    edges = sorted({start + (end - start) * part // parts for part in range(1, parts)})
    characters = [edge for edge in edges if not _inside_letter(text, edge)] or edges
    return CutPlaces.of(characters, [CHARACTER] * len(characters))


def _inside_letter(text: str, place: int) -> bool:
    """Whether what people see as one letter goes on here: accents, joined emoji."""
    here, before = text[place], text[place - 1]
    return bool(unicodedata.combining(here)) or here in _JOINERS or before == "\u200d"
