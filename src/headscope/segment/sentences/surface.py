"""Surface features: the characters around a candidate, without any model. For punctuated text."""

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from headscope.segment.sentences.candidates import OPENERS
from headscope.text.sentences import CLOSERS, split_sentences

_MARKS = {".": 0, "!": 1, "?": 2, "…": 3, ":": 4, ";": 5, ",": 6, "-": 7, "–": 7, "—": 7}  # noqa: RUF001
_MARKS |= {"。": 0, "．": 0, "｡": 0, "！": 1, "？": 2}  # noqa: RUF001
_WORD_BEFORE = re.compile(r"[\w.&'’-]*\Z")  # noqa: RUF001
_WORD_AFTER = re.compile(r"\W*(\w[\w'’]*)")  # noqa: RUF001
_LOOK = 32
"""Number of characters looked at on each side: no word that matters is longer."""

FEATURES = (
    "rule_based_splitter",
    "full_stop",
    "exclamation_mark",
    "question_mark",
    "ellipsis",
    "colon",
    "semicolon",
    "comma",
    "dash",
    "other_mark",
    "no_mark",
    "closer",
    "no_space",
    "line_break",
    "blank_line",
    "wide_space",
    "next_upper",
    "next_lower",
    "next_digit",
    "next_opener",
    "next_other",
    "word_is_letter",
    "word_is_short",
    "word_has_point",
    "word_is_capitalised",
    "word_is_upper",
    "word_has_digit",
    "next_word_upper",
    "next_word_short",
)
"""The name of each feature, in order; all are 0 or 1."""


def surface_features(
    text: str, characters: Sequence[int] | np.ndarray
) -> Float32[np.ndarray, "candidate feature"]:
    """A row of zeros and ones per candidate.

    >>> features = surface_features("It works. Good", [10])
    >>> [name for name, value in zip(FEATURES, features[0], strict=True) if value]
    ['rule_based_splitter', 'full_stop', 'next_upper']

    Args:
        text: The text.
        characters: The character that a sentence would begin with, for each candidate.
    """
    rules = rule_starts(text)
    rows = np.zeros((len(characters), len(FEATURES)), dtype=np.float32)
    for row, character in zip(rows, characters, strict=True):
        _describe(row, text, int(character), int(character) in rules)
    return rows


def rule_starts(text: str) -> set[int]:
    """The characters at which a rule-based splitter begins a sentence.

    Args:
        text: The text.
    """
    starts = set()
    for start, _ in split_sentences(text):
        place = start
        while place < len(text) and text[place].isspace():
            place += 1
        starts.add(place)
    return starts


def _describe(row: np.ndarray, text: str, character: int, ruled: bool) -> None:
    before = text[max(0, character - _LOOK) : character]
    visible = before.rstrip()
    gap = before[len(visible) :]
    inner = visible
    while inner and inner[-1] in CLOSERS:
        inner = inner[:-1]
    mark = inner[-1:]
    row[0] = ruled
    if inner.endswith(".."):
        row[1 + 3] = 1
    elif mark in _MARKS:
        row[1 + _MARKS[mark]] = 1
    else:
        row[10 if mark.isalnum() else 9] = 1
    row[11] = len(inner) < len(visible)
    lines = gap.count("\n")
    row[12] = not gap
    row[13] = lines == 1
    row[14] = lines > 1
    row[15] = lines == 0 and len(gap) > 1
    after = text[character : character + _LOOK]
    following = after[:1]
    if following.isupper():
        row[16] = 1
    elif following.islower():
        row[17] = 1
    elif following.isdigit():
        row[18] = 1
    else:
        row[19 if following in OPENERS else 20] = 1
    found = _WORD_BEFORE.search(inner[:-1] if mark and not mark.isalnum() else inner)
    word = found[0] if found else ""
    row[21] = len(word) == 1
    row[22] = 1 < len(word) <= 3
    row[23] = "." in word
    row[24] = word[:1].isupper()
    row[25] = len(word) > 1 and word.isupper()
    row[26] = any(letter.isdigit() for letter in word)
    next_found = _WORD_AFTER.match(after)
    next_word = next_found[1] if next_found else ""
    row[27] = len(next_word) > 1 and next_word.isupper()
    row[28] = 0 < len(next_word) <= 3
