"""Bare text: a text without punctuation and case, like transcripts and much chat."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_JOINERS = "'’"  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class BareText:
    """A text without punctuation and case, and where its sentences begin."""

    text: str
    starts: tuple[int, ...]
    """The characters at which sentences begin, without the first."""


def bare_text(text: str, starts: Sequence[int], *, keep_apostrophes: bool = False) -> BareText:
    """The text in lower case, without punctuation and symbols, with single spaces.

    A sentence of punctuation alone disappears.

    >>> bare_text("Well, no! Don't.", [10])
    BareText(text='well no dont', starts=(8,))

    Args:
        text: The text.
        starts: The characters at which its sentences begin.
        keep_apostrophes: Whether apostrophes inside a word stay, as in "don't".
    """
    wanted = iter(sorted(starts))
    next_start = next(wanted, None)
    kept: list[str] = []
    found: list[int] = []
    length, space, new_sentence = 0, False, False
    for place, character in enumerate(text):
        while next_start is not None and next_start <= place:
            new_sentence, next_start = True, next(wanted, None)
        if character.isspace():
            space = True
            continue
        if _is_mark(character) and not (
            keep_apostrophes and character in _JOINERS and _inside_word(text, place)
        ):
            continue
        if length and (space or new_sentence):
            kept.append(" ")
            length += 1
        if new_sentence and length:
            found.append(length)
        space = new_sentence = False
        lower = character.lower()
        kept.append(lower)
        length += len(lower)
    return BareText("".join(kept), tuple(found))


def _inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) - 1 and text[place - 1].isalpha() and text[place + 1].isalpha()


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] in "PSC"
