"""Windows: the stretches of consecutive tokens that are analysed, one at a time.

A window lies in one document. Around its tokens stand the special tokens that the model expects
around a text of its own, so that the model sees a window as it would see a short text.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Int32

from headscope.text.document import Document
from headscope.text.kinds import TokenKind


@dataclass(frozen=True, eq=False, slots=True)
class Encoding:
    """The tokens of a text, without the special tokens that stand around it."""

    token_ids: Int32[np.ndarray, " token"]
    starts: Int32[np.ndarray, " token"]
    """First character of each token."""
    ends: Int32[np.ndarray, " token"]
    """The character behind each token; equal to its start when it has no characters of its own."""


class WindowTokenizer(Protocol):
    """What cutting windows needs to know of a tokenizer."""

    @property
    def prefix_ids(self) -> tuple[int, ...]:
        """The special tokens in front of a text."""

    @property
    def suffix_ids(self) -> tuple[int, ...]:
        """The special tokens behind a text."""

    @property
    def special_names(self) -> dict[int, str]:
        """The names of all special tokens by id ([CLS], <s>, ...), the unknown token left out."""

    @property
    def max_tokens(self) -> int | None:
        """The most tokens the model takes at once, special tokens included; None is no limit."""

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, in order, without special tokens around it."""


@dataclass(frozen=True, eq=False, slots=True)
class Window:
    """Consecutive tokens of one document, with the marks that measures ask for.

    All arrays have one entry per token, special tokens included.
    """

    document: str
    """Id of the document."""
    label: str | None
    """Domain of the document."""
    tokens: tuple[str, ...]
    """The text of each token, for people; special tokens by their name."""
    token_ids: Int32[np.ndarray, " token"]
    """What the model reads."""
    starts: Int32[np.ndarray, " token"]
    """First character in the document, -1 for special tokens."""
    ends: Int32[np.ndarray, " token"]
    """The character behind the token in the document, -1 for special tokens."""
    sentence_ids: Int32[np.ndarray, " token"]
    """The sentence in which the token starts, from 0 in each window; -1 for special tokens."""
    word_ids: Int32[np.ndarray, " token"]
    """The word the token is part of, from 0 in each window; -1 for special tokens."""
    form_ids: Int32[np.ndarray, " token"]
    """Equal for tokens of words that are written the same, lower-cased; -1 for special tokens."""
    lemma_ids: Int32[np.ndarray, " token"]
    """Equal for tokens of words with the same lemma; -1 for special tokens and without lemma."""
    kinds: Int32[np.ndarray, " token"]
    """The `TokenKind` of each token."""

    @property
    def n_tokens(self) -> int:
        """The number of tokens, special tokens included."""
        return len(self.token_ids)

    @property
    def special(self) -> Bool[np.ndarray, " token"]:
        """True at special tokens."""
        return self.kinds == TokenKind.SPECIAL

    @property
    def separator(self) -> Bool[np.ndarray, " token"]:
        """True at sentence-ending tokens (. ! ? and their full-width forms)."""
        return self.kinds == TokenKind.SEPARATOR


def cut_windows(
    document: Document,
    tokenizer: WindowTokenizer,
    *,
    window_tokens: int = 128,
    min_tokens: int = 16,
) -> Iterator[Window]:
    """The windows of one document, in order, without overlap."""
    raise NotImplementedError


def iter_windows(
    documents: Iterable[Document],
    tokenizer: WindowTokenizer,
    *,
    window_tokens: int = 128,
    min_tokens: int = 16,
    limit: int | None = None,
    on_document: Callable[[Document], None] | None = None,
) -> Iterator[Window]:
    """The windows of many documents, in order, at most `limit` of them."""
    raise NotImplementedError
