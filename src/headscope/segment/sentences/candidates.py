"""Candidates: the places in a text at which a sentence may begin."""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from headscope.text.encoding import Encoding
from headscope.text.sentences import CLOSERS, SENTENCE_MARKS

SPACED_ENDS = ".!?…"
"""Marks that end a sentence when a space follows."""
OPENERS = frozenset("\"'“‘([«「『（《【〈")  # noqa: RUF001
"""What may stand before the first letter of a sentence."""


_ENDS = SPACED_ENDS + SENTENCE_MARKS
_CLOSERS = re.escape(CLOSERS)
_CANDIDATE = re.compile(
    rf"(?<=\s)\S|(?<=[{_ENDS}])[^\s{_ENDS}{_CLOSERS}]|(?<=[{_ENDS}][{_CLOSERS}])[^\s{_CLOSERS}]"
    rf"|(?<=[{SENTENCE_MARKS}][{_CLOSERS}][{_CLOSERS}])[^\s{_CLOSERS}]"
)


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """Places between two characters, in order; a sentence would begin with the second."""

    characters: Int64[np.ndarray, " candidate"]
    """The character that the sentence would begin with: never white space."""
    tokens: Int64[np.ndarray, " candidate"]
    """The first token at or after that character; the number of tokens if there is none."""

    def __len__(self) -> int:
        return len(self.characters)


def find_candidates(text: str, encoding: Encoding) -> Candidates:
    """The candidates of a text: after white space, and after a sentence end without a space.

    The first visible character is not a candidate: a sentence begins there anyway. White space
    belongs to what it follows, so a text cut at candidates loses nothing.

    >>> no_tokens = np.array([], dtype=np.int32)
    >>> encoding = Encoding(no_tokens, no_tokens, no_tokens)
    >>> find_candidates("Dr. No? Yes!No", encoding).characters
    array([ 4,  8, 12])

    Args:
        text: The text.
        encoding: Its tokens.
    """
    first_visible = len(text) - len(text.lstrip())
    characters = np.array(
        [found.start() for found in _CANDIDATE.finditer(text) if found.start() > first_visible],
        dtype=np.int64,
    )
    # By the ends of the tokens: in some tokenizers a token starts with the space before its word.
    tokens = np.searchsorted(encoding.ends, characters, side="right").astype(np.int64)
    return Candidates(characters, tokens)
