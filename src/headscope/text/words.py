"""Words: the same for every tokenizer, so that models can be compared word by word."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Int32

from headscope.text.document import Document, Word
from headscope.text.kinds import kind_of_tagged_word, kind_of_word


@dataclass(frozen=True, eq=False, slots=True)
class DocumentWords:
    """The words of one document, in order. Equal ids mean equal forms or lemmas."""

    starts: Int32[np.ndarray, " word"]
    ends: Int32[np.ndarray, " word"]
    form_ids: Int32[np.ndarray, " word"]
    """By spelling, lower-cased."""
    lemma_ids: Int32[np.ndarray, " word"]
    """-1 where the corpus gives no lemma."""
    kinds: Int32[np.ndarray, " word"]
    """The `TokenKind` of each word."""
    heads: Int32[np.ndarray, " word"]
    """The number of the word that governs it, its own at a root; -1 without dependencies."""


def document_words(document: Document, sentence_starts: Int32[np.ndarray, " s"]) -> DocumentWords:
    """Gold words where the corpus has them, otherwise words by the look of the text."""
    if document.words is not None:
        return _gold_words(document.text, document.words)
    return _plain_words(document.text, sentence_starts)


def _gold_words(text: str, words: tuple[Word, ...]) -> DocumentWords:
    forms: dict[str, int] = {}
    lemmas: dict[str, int] = {}
    form_ids, lemma_ids, kinds = [], [], []
    for word in words:
        written = text[word.start : word.end]
        form_ids.append(forms.setdefault(written.lower(), len(forms)))
        lemma = word.lemma
        lemma_ids.append(-1 if lemma is None else lemmas.setdefault(lemma, len(lemmas)))
        kinds.append(kind_of_tagged_word(written, word.upos))
    return DocumentWords(
        starts=np.array([word.start for word in words], dtype=np.int32),
        ends=np.array([word.end for word in words], dtype=np.int32),
        form_ids=np.array(form_ids, dtype=np.int32),
        lemma_ids=np.array(lemma_ids, dtype=np.int32),
        kinds=np.array(kinds, dtype=np.int32),
        heads=np.array([-1 if w.head is None else w.head for w in words], dtype=np.int32),
    )


def _plain_words(text: str, sentence_starts: Int32[np.ndarray, " s"]) -> DocumentWords:
    pieces = _word_pattern().findall(text)  # words and the white space between them cover the text
    lengths = np.fromiter(map(len, pieces), dtype=np.int32, count=len(pieces))
    piece_ends = np.cumsum(lengths, dtype=np.int32)
    # What depends only on the spelling is computed once for each spelling.
    spellings = {spelling: i for i, spelling in enumerate(dict.fromkeys(pieces))}
    spelling_of = np.fromiter(map(spellings.__getitem__, pieces), np.int32, count=len(pieces))
    is_word = np.array([not spelling.isspace() for spelling in spellings], dtype=bool)[spelling_of]
    starts, ends = (piece_ends - lengths)[is_word], piece_ends[is_word]
    spelling_of = spelling_of[is_word]

    forms: dict[str, int] = {}
    form_of = [forms.setdefault(spelling.lower(), len(forms)) for spelling in spellings]
    kind_inside = [kind_of_word(spelling, starts_sentence=False) for spelling in spellings]
    kind_first = [kind_of_word(spelling, starts_sentence=True) for spelling in spellings]
    wordlike = np.array([spelling[0].isalnum() for spelling in spellings], dtype=bool)

    # The first word of a sentence is the first that is not punctuation: quotes may come before it.
    lettered = np.flatnonzero(wordlike[spelling_of])
    sentence_of = np.searchsorted(sentence_starts, starts[lettered], side="right")
    first = np.zeros(len(starts), dtype=bool)
    first[lettered[np.unique(sentence_of, return_index=True)[1]]] = True
    kinds = np.where(
        first,
        np.array(kind_first, dtype=np.int32)[spelling_of],
        np.array(kind_inside, dtype=np.int32)[spelling_of],
    )
    return DocumentWords(
        starts=starts,
        ends=ends,
        form_ids=np.array(form_of, dtype=np.int32)[spelling_of],
        lemma_ids=np.full(len(starts), -1, dtype=np.int32),
        kinds=kinds,
        heads=np.full(len(starts), -1, dtype=np.int32),
    )


@cache
def _word_pattern() -> re.Pattern[str]:
    r"""Words, numbers, single ideographs, single signs, and the white space between them.

    `\w` is not enough: it leaves out combining marks, without which Hindi or vowelled Hebrew falls
    into pieces, and joins the ideographs of a whole clause. So the class of letters is spelled out
    from Unicode's categories, with the joiners that Persian writes inside words.
    """
    letter = f"[{_ranges(_is_letter)}]"
    return re.compile(
        r"\d+(?:[.,]\d+)+(?!\w)"
        rf"|{letter}+(?:['\u2019]{letter}+)*"
        r"|[^\W\u0000-\uffff\U00020000-\U0003ffff]+"  # letters of rare scripts
        r"|\S|\s+"
    )


def _is_letter(character: str) -> bool:
    if character in "_\u200c\u200d":
        return True
    kana_or_ideograph = (
        "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\uf900" <= character <= "\ufaff"
    )
    return unicodedata.category(character)[0] in "LMN" and not kana_or_ideograph


def _ranges(belongs: Callable[[str], bool]) -> str:
    """The characters of the basic plane that belong, as the inside of a [...] in a pattern."""
    members = np.array([belongs(chr(code)) for code in range(0x10000)], dtype=np.int8)
    edges = np.flatnonzero(np.diff(members, prepend=0, append=0)).reshape(-1, 2).tolist()
    return "".join(f"\\u{first:04x}-\\u{after - 1:04x}" for first, after in edges)
