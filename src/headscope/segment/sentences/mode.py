"""Modes: whether the punctuation of a text can be relied on."""

import re
from typing import Literal, get_args

from headscope.errors import SettingsError
from headscope.segment.sentences.candidates import CLOSERS, FULL_WIDTH_ENDS, SPACED_ENDS

Mode = Literal["punctuated", "unpunctuated"]
MODES: tuple[Mode, ...] = get_args(Mode)

_WORDS_PER_MARK = 60
"""Real prose ends a sentence at least this often; a text that does so less is not punctuated."""

_END_MARK = re.compile(rf"[{SPACED_ENDS}][{re.escape(CLOSERS)}]*(?=\s|\Z)|[{FULL_WIDTH_ENDS}]")
_WORD = re.compile(r"\w+")


def choose_mode(text: str) -> Mode:
    """`punctuated` when the text has a sentence-ending mark for every 60 words or part of them."""
    marks = sum(1 for _ in _END_MARK.finditer(text))
    words = sum(1 for _ in _WORD.finditer(text))
    return "punctuated" if marks and marks * _WORDS_PER_MARK >= words else "unpunctuated"


def checked_mode(mode: str) -> Mode | None:
    """The mode by its name, None for `auto`.

    Raises:
        SettingsError: there is no such mode.
    """
    if mode == "auto":
        return None
    if mode not in MODES:
        raise SettingsError(f"mode: {mode!r} is not one of auto, {', '.join(MODES)}")
    return mode
