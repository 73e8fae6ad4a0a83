"""Annotations: the sentence, word, form, lemma and kind of every token of a document."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int32, UInt32

from headscope.text.document import Document
from headscope.text.encoding import Encoding
from headscope.text.kinds import SEPARATOR_CHARACTERS, TokenKind, is_separator
from headscope.text.sentences import sentence_spans
from headscope.text.words import document_words

_SPACES = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)
_SEPARATORS = np.array([ord(character) for character in SEPARATOR_CHARACTERS], dtype=np.uint32)


@dataclass(frozen=True, eq=False, slots=True)
class AnnotatedTokens:
    """The tokens of a whole document; ids are numbered throughout the document, -1 is none."""

    text: str
    token_ids: Int32[np.ndarray, " token"]
    starts: Int32[np.ndarray, " token"]
    ends: Int32[np.ndarray, " token"]
    sentence_ids: Int32[np.ndarray, " token"]
    word_ids: Int32[np.ndarray, " token"]
    form_ids: Int32[np.ndarray, " token"]
    lemma_ids: Int32[np.ndarray, " token"]
    head_ids: Int32[np.ndarray, " token"]
    kinds: Int32[np.ndarray, " token"]
    special_names: dict[int, str]

    def surfaces(self, tokens: slice) -> Iterator[str]:
        """The text of each token; special tokens by their name."""
        for token_id, start, end in zip(
            self.token_ids[tokens].tolist(),
            self.starts[tokens].tolist(),
            self.ends[tokens].tolist(),
            strict=True,
        ):
            yield self.special_names[token_id] if start < 0 else self.text[start:end]


def annotate_tokens(
    document: Document, encoding: Encoding, special_names: dict[int, str]
) -> AnnotatedTokens:
    """Every token of a document with its annotations.

    A token belongs to the sentence and to the word in which its first character lies. A token
    outside all words (mostly white space) is a word of its own. A special token that is spelled
    out in the text ("[SEP]") is special there too, since the model takes it for one.
    """
    text = document.text
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    starts, ends = _without_space(codes, encoding.starts, encoding.ends)
    n_tokens = len(starts)

    sentence_starts = np.array([start for start, _ in sentence_spans(document)], dtype=np.int32)
    sentence_ids = np.searchsorted(sentence_starts, starts, side="right").astype(np.int32) - 1
    np.maximum(sentence_ids, 0, out=sentence_ids)

    words = document_words(document, sentence_starts)
    n_words = len(words.starts)
    word_ids = np.searchsorted(words.starts, starts, side="right").astype(np.int32) - 1
    inside = word_ids >= 0
    inside[inside] = starts[inside] < words.ends[word_ids[inside]]
    form_ids = np.full(n_tokens, -1, dtype=np.int32)
    lemma_ids = np.full(n_tokens, -1, dtype=np.int32)
    head_ids = np.full(n_tokens, -1, dtype=np.int32)
    kinds = np.full(n_tokens, TokenKind.PUNCTUATION, dtype=np.int32)
    form_ids[inside] = words.form_ids[word_ids[inside]]
    lemma_ids[inside] = words.lemma_ids[word_ids[inside]]
    head_ids[inside] = words.heads[word_ids[inside]]
    kinds[inside] = words.kinds[word_ids[inside]]

    other_forms: dict[str, int] = {}
    for token in np.flatnonzero(~inside).tolist():
        form = text[starts[token] : ends[token]].lower()
        word_ids[token] = n_words + token
        form_ids[token] = n_words + other_forms.setdefault(form, len(other_forms))

    # Few tokens are punctuation: a look at the first character saves slicing all of them.
    may_separate = np.isin(codes, _SEPARATORS)
    for token in np.flatnonzero(may_separate[np.minimum(starts, len(codes) - 1)]).tolist():
        if is_separator(text[starts[token] : ends[token]]):
            kinds[token] = TokenKind.SEPARATOR

    special = np.isin(encoding.token_ids, list(special_names))
    kinds[special] = TokenKind.SPECIAL
    for ids in (starts, ends, sentence_ids, word_ids, form_ids, lemma_ids, head_ids):
        ids[special] = -1
    return AnnotatedTokens(
        text=text,
        token_ids=encoding.token_ids,
        starts=starts,
        ends=ends,
        sentence_ids=sentence_ids,
        word_ids=word_ids,
        form_ids=form_ids,
        lemma_ids=lemma_ids,
        head_ids=head_ids,
        kinds=kinds,
        special_names=special_names,
    )


def _without_space(
    codes: UInt32[np.ndarray, " character"],
    starts: Int32[np.ndarray, " token"],
    ends: Int32[np.ndarray, " token"],
) -> tuple[Int32[np.ndarray, " token"], Int32[np.ndarray, " token"]]:
    """The spans without white space at either end; a span of only white space stays as it is."""
    visible = np.flatnonzero(~np.isin(codes, _SPACES)).astype(np.int32)
    first = np.searchsorted(visible, starts, side="left")
    after = np.searchsorted(visible, ends, side="left")
    has_text = first < after
    starts, ends = starts.copy(), ends.copy()
    starts[has_text] = visible[first[has_text]]
    ends[has_text] = visible[after[has_text] - 1] + 1
    return starts, ends
