"""Baselines: what any segmenter must beat to be worth its time."""

import itertools
import re
from collections.abc import Sequence

import numpy as np

from headscope.segment.end_marks import CLOSERS, FULL_WIDTH_ENDS, SPACED_ENDS

_SENTENCE_END = re.compile(
    rf"(?<=[{SPACED_ENDS}])[{re.escape(CLOSERS)}]*\s+|(?<=[{FULL_WIDTH_ENDS}])"
)


def punctuation_split(text: str) -> list[str]:
    """The text cut behind every . ! ? that white space follows."""
    edges = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
    return [text[first:behind] for first, behind in itertools.pairwise(edges)]


def even_places(units: int, segments: int) -> list[int]:
    """Where segments begin that are as equal as can be, the first one left out."""
    return sorted({round(units * k / segments) for k in range(1, segments)} - {0, units})


def random_places(units: int, segments: int, rng: np.random.Generator) -> list[int]:
    """Where so many segments begin, drawn at random; the first one left out."""
    count = min(segments - 1, max(units - 1, 0))
    return sorted((rng.choice(max(units - 1, 0), size=count, replace=False) + 1).tolist())


def words_from(text: str, places: Sequence[int]) -> list[int]:
    """Places counted in words as places counted in visible characters."""
    ends = np.concatenate([[0], np.cumsum([len(word) for word in text.split()])])
    return [int(ends[place]) for place in places]
