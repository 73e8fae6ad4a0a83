"""The mode of a text: whether its punctuation can be relied on."""

import re
from typing import Literal, get_args

from headscope.errors import SettingsError
from headscope.segment.sentences.candidates import SPACED_ENDS
from headscope.text.sentences import CLOSERS, SENTENCE_MARKS

Mode = Literal["punctuated", "unpunctuated"]
MODES: tuple[Mode, ...] = get_args(Mode)

_WORDS_PER_MARK = 60
"""Punctuated prose has at least one sentence end in this many words."""

_END_MARK = re.compile(rf"[{SPACED_ENDS}][{re.escape(CLOSERS)}]*(?=\s|\Z)|[{SENTENCE_MARKS}]")
_WORD = re.compile(r"\w+")


def choose_mode(text: str) -> Mode:
    """`punctuated` if the text has at least one sentence-ending mark per 60 words.

    >>> choose_mode("We met. We talked.")
    'punctuated'
    >>> choose_mode("we met and then we talked")
    'unpunctuated'

    Args:
        text: The text.
    """
    marks = sum(1 for _ in _END_MARK.finditer(text))
    words = sum(1 for _ in _WORD.finditer(text))
    return "punctuated" if marks and marks * _WORDS_PER_MARK >= words else "unpunctuated"


def checked_mode(mode: str) -> Mode | None:
    """The mode with that name, None for `auto`.

    Args:
        mode: `auto`, `punctuated` or `unpunctuated`.

    Raises:
        SettingsError: There is no such mode.
    """
    if mode == "auto":
        return None
    if mode not in MODES:
        raise SettingsError(f"mode: {mode!r} is not one of auto, {', '.join(MODES)}")
    return mode
