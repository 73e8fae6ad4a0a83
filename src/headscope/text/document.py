"""A document: one text of a corpus, with whatever its corpus knows about it."""

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
