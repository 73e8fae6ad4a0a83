"""Windows: the stretches of consecutive tokens that are measured, one at a time.

A window lies in one document. Special tokens are put around it as the model expects them around a
text, so that the model sees a window as it would see a short text.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int32

from headscope.errors import SettingsError
from headscope.text.annotations import annotate_tokens
from headscope.text.copies import document_hash
from headscope.text.document import Document
from headscope.text.encoding import Encoding
from headscope.text.kinds import SPECIAL_KINDS, TokenKind
from headscope.text.stretches import stretches


@runtime_checkable
class WindowTokenizer(Protocol):
    """What cutting windows needs to know of a tokenizer."""

    @property
    def prefix_ids(self) -> tuple[int, ...]:
        """The special tokens before a text."""

    @property
    def suffix_ids(self) -> tuple[int, ...]:
        """The special tokens after a text."""

    @property
    def special_names(self) -> dict[int, str]:
        """The names of all special tokens by id ([CLS], <s>, ...), without the unknown token."""

    @property
    def separator_ids(self) -> frozenset[int]:
        """The special tokens that end or separate texts ([SEP], </s>), by id."""

    @property
    def max_tokens(self) -> int | None:
        """The maximum number of tokens, special tokens included; None is no limit."""

    def encode(self, text: str) -> Encoding:
        """The tokens of a text, in order, without special tokens around it."""


@dataclass(frozen=True, eq=False, slots=True)
class Window:
    """Consecutive tokens of one document, with the annotations that measures need.

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
    """The character after the token in the document, -1 for special tokens."""
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
    head_ids: Int32[np.ndarray, " token"]
    """The word that governs the token's word in the dependency tree; its own word at the root of a
    sentence, and where the governing word lies outside the window; -1 for special tokens and
    without dependencies."""
    document_hash: str | None = None
    """Equal for copies of a document; None where every copy counts as a document of its own."""

    @property
    def n_tokens(self) -> int:
        """The number of tokens, special tokens included."""
        return len(self.token_ids)

    @property
    def special(self) -> Bool[np.ndarray, " token"]:
        """True at special tokens."""
        special: Bool[np.ndarray, " token"] = np.isin(self.kinds, SPECIAL_KINDS)
        return special

    @property
    def special_separator(self) -> Bool[np.ndarray, " token"]:
        """True at special tokens that end or separate texts ([SEP], </s>)."""
        separator: Bool[np.ndarray, " token"] = self.kinds == TokenKind.SPECIAL_SEPARATOR
        return separator

    @property
    def separator(self) -> Bool[np.ndarray, " token"]:
        """True at sentence-ending tokens (. ! ? and their full-width forms)."""
        separator: Bool[np.ndarray, " token"] = self.kinds == TokenKind.SEPARATOR
        return separator


def cut_windows(
    document: Document,
    tokenizer: WindowTokenizer,
    *,
    window_tokens: int = 128,
    min_tokens: int = 16,
    only: Collection[int] | None = None,
) -> Iterator[Window]:
    """The windows of one document, in order, without overlap.

    Each has `window_tokens` tokens, including the special tokens around it. The last may be
    shorter, and is left out if it has fewer than `min_tokens` tokens without them. Documents of
    more than a million characters are cut in stretches, each of which has such a last window. With
    `only`, the windows of those numbers, counted from 0, as cutting the whole document gives them.
    """
    check_window_settings(tokenizer, window_tokens=window_tokens, min_tokens=min_tokens)
    names = tokenizer.special_names
    prefix_names = tuple(names[token_id] for token_id in tokenizer.prefix_ids)
    suffix_names = tuple(names[token_id] for token_id in tokenizer.suffix_ids)
    prefix_ids = np.array(tokenizer.prefix_ids, dtype=np.int32)
    suffix_ids = np.array(tokenizer.suffix_ids, dtype=np.int32)
    n_prefix, n_suffix = len(prefix_ids), len(suffix_ids)

    def between(body: Int32[np.ndarray, " body"], filler: int) -> Int32[np.ndarray, " token"]:
        """Values of the body's tokens, with `filler` for the special tokens around them."""
        window = np.full(n_prefix + len(body) + n_suffix, filler, dtype=np.int32)
        window[n_prefix : n_prefix + len(body)] = body
        return window

    body_tokens = window_tokens - n_prefix - n_suffix
    shared_hash = document_hash(document.text)
    number = -1
    for stretch in stretches(document):
        encoding = tokenizer.encode(stretch.document.text)
        # Before annotating, which takes longest: a corpus may hold a million short texts.
        if len(encoding.token_ids) < min_tokens:
            continue
        annotated = annotate_tokens(stretch.document, encoding, names)
        for first in range(0, len(annotated.token_ids), body_tokens):
            body = slice(first, first + body_tokens)
            if len(annotated.token_ids[body]) < min_tokens:
                break
            number += 1
            if only is not None and number not in only:
                continue
            token_ids = np.concatenate([prefix_ids, annotated.token_ids[body], suffix_ids])
            kinds = between(annotated.kinds[body], TokenKind.SPECIAL)
            yield Window(
                document=document.id,
                label=document.label,
                tokens=prefix_names + tuple(annotated.surfaces(body)) + suffix_names,
                token_ids=token_ids,
                starts=between(_shifted(annotated.starts[body], stretch.offset), -1),
                ends=between(_shifted(annotated.ends[body], stretch.offset), -1),
                sentence_ids=between(_renumbered(annotated.sentence_ids[body]), -1),
                word_ids=between(_renumbered(annotated.word_ids[body]), -1),
                form_ids=between(_renumbered(annotated.form_ids[body]), -1),
                lemma_ids=between(_renumbered(annotated.lemma_ids[body]), -1),
                kinds=_with_special_separators(kinds, token_ids, tokenizer.separator_ids),
                head_ids=between(_heads(annotated.head_ids[body], annotated.word_ids[body]), -1),
                document_hash=shared_hash,
            )


def count_windows(
    document: Document,
    tokenizer: WindowTokenizer,
    *,
    window_tokens: int = 128,
    min_tokens: int = 16,
) -> int:
    """The number of windows that `cut_windows` gives, which takes tokenising alone."""
    check_window_settings(tokenizer, window_tokens=window_tokens, min_tokens=min_tokens)
    body_tokens = window_tokens - len(tokenizer.prefix_ids) - len(tokenizer.suffix_ids)
    found = 0
    for stretch in stretches(document):
        tokens = len(tokenizer.encode(stretch.document.text).token_ids)
        whole, rest = divmod(tokens, body_tokens)
        found += whole + (rest >= min_tokens)
    return found


def iter_windows(
    documents: Iterable[Document],
    tokenizer: WindowTokenizer,
    *,
    window_tokens: int = 128,
    min_tokens: int = 16,
    limit: int | None = None,
    on_document: Callable[[Document], None] | None = None,
) -> Iterator[Window]:
    """The windows of many documents, in order, at most `limit` of them.

    `on_document` is called with each document that has a window, before its first one; documents
    after the limit are never read.
    """
    check_window_settings(tokenizer, window_tokens=window_tokens, min_tokens=min_tokens)
    if limit is not None and limit < 1:
        raise SettingsError(f"cannot analyse {limit} windows; ask for at least 1")

    def unlimited() -> Iterator[Window]:
        for document in documents:
            windows = cut_windows(
                document, tokenizer, window_tokens=window_tokens, min_tokens=min_tokens
            )
            for number, window in enumerate(windows):
                if number == 0 and on_document is not None:
                    on_document(document)
                yield window

    return islice(unlimited(), limit)


def check_window_settings(
    tokenizer: WindowTokenizer, *, window_tokens: int, min_tokens: int
) -> None:
    """Refuse sizes that make no sense, or that the model cannot take.

    Raises:
        SettingsError: with the sizes that are possible.
    """
    n_special = len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
    if window_tokens < n_special + 2:
        raise SettingsError(
            f"a window of {window_tokens} tokens is too short: this model adds {n_special} special "
            f"tokens, so it takes at least {n_special + 2}"
        )
    if tokenizer.max_tokens is not None and window_tokens > tokenizer.max_tokens:
        raise SettingsError(
            f"a window of {window_tokens} tokens is too long: "
            f"this model takes at most {tokenizer.max_tokens}"
        )
    if not 2 <= min_tokens <= window_tokens - n_special:
        raise SettingsError(
            f"the shortest window cannot have {min_tokens} tokens: with windows of {window_tokens} "
            f"choose between 2 and {window_tokens - n_special}"
        )


def _with_special_separators(
    kinds: Int32[np.ndarray, " token"],
    token_ids: Int32[np.ndarray, " token"],
    separator_ids: frozenset[int],
) -> Int32[np.ndarray, " token"]:
    """The kinds with special separators told apart from other special tokens.

    GPT-2 has one token for the beginning and the end of a text: as the first of a window it is no
    separator.
    """
    separates = (kinds == TokenKind.SPECIAL) & np.isin(token_ids, list(separator_ids))
    separates[:1] = False
    told: Int32[np.ndarray, " token"] = np.where(
        separates, np.int32(TokenKind.SPECIAL_SEPARATOR), kinds
    )
    return told


def _shifted(places: Int32[np.ndarray, " token"], offset: int) -> Int32[np.ndarray, " token"]:
    """Places in a stretch as places in its document; -1 stays -1."""
    shifted: Int32[np.ndarray, " token"] = np.where(places < 0, places, places + np.int32(offset))
    return shifted


def _heads(
    head_ids: Int32[np.ndarray, " token"], word_ids: Int32[np.ndarray, " token"]
) -> Int32[np.ndarray, " token"]:
    """Heads by the numbers that words have in the window; a word governs itself if need be."""
    words = np.unique(word_ids[word_ids >= 0])
    inside = np.where(np.isin(head_ids, words), head_ids, word_ids)
    numbers = np.searchsorted(words, inside)
    heads: Int32[np.ndarray, " token"] = np.where(head_ids < 0, -1, numbers).astype(np.int32)
    return heads


def _renumbered(ids: Int32[np.ndarray, " token"]) -> Int32[np.ndarray, " token"]:
    """The same groups, numbered from 0 in the order of their ids; -1 stays -1."""
    groups, numbers = np.unique(ids, return_inverse=True)
    renumbered: Int32[np.ndarray, " token"] = (numbers - (groups[0] == -1)).astype(np.int32)
    return renumbered
