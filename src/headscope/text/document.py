"""A document: one text of a corpus, with whatever its corpus knows about it.

Beside it the hash that identifies a corpus.
"""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word that the corpus itself marks, at characters [start, end) of its document."""

    start: int
    end: int
    lemma: str | None
    """The dictionary form, where the corpus gives it."""
    upos: str | None
    """The universal part of speech (NOUN, VERB, ...), where the corpus gives it."""
    head: int | None = None
    """The word that governs it, by its number in the document; its own number at the root of a
    sentence. None where the corpus gives no dependencies."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text. Windows never cross from one document into the next."""

    id: str
    """A name for people and for reports. Ids do not have to be unique."""
    text: str
    sentences: tuple[tuple[int, int], ...] | None = None
    """Gold sentences as character spans [start, end), in order; None when the corpus has none."""
    words: tuple[Word, ...] | None = None
    """Gold words in order, without overlaps; None when the corpus has none."""
    label: str | None = None
    """The domain or class that the corpus puts the text in (news, email, ...)."""


class CorpusHasher:
    """The SHA-256 of a corpus: documents are added in order, with all that can change a result."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, document: Document) -> None:
        """Add the next document: id, label, text, gold sentences and gold words."""
        for field in (document.id, document.label, document.text):
            self._add(field)
        self._add(repr(document.sentences))
        if document.words is None:
            self._add(None)
        else:
            for word in document.words:
                arc = "" if word.head is None else f" {word.head}"
                self._add(f"{word.start} {word.end} {word.lemma!r} {word.upos!r}{arc}")
        self._add("end of document")

    def hexdigest(self) -> str:
        """The hash of the documents so far, as 64 hexadecimal digits."""
        return self._hash.hexdigest()

    def _add(self, field: str | None) -> None:
        # Each field follows its length: no two different corpora give the same bytes.
        data = b"" if field is None else field.encode("utf-8")
        length = -1 if field is None else len(data)
        self._hash.update(length.to_bytes(8, "little", signed=True))
        self._hash.update(data)
