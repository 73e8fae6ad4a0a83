"""Stretches: a long text in parts that are tokenised and annotated one at a time.

Tokens and their annotations take a hundred times the memory of the text. A document of 200 MB is
cut into windows all the same, in the memory that a megabyte takes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.text.document import Document

STRETCH_CHARACTERS = 1 << 20
"""Longer documents are divided, unless their corpus marks their words itself."""

_DIVIDERS = ("\n\n", "\n", " ")
"""Where a text is best divided: between paragraphs, lines, words."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a document, as a document of its own."""

    document: Document
    offset: int
    """Where it begins in the whole document, in characters."""


def stretches(document: Document, longest: int | None = None) -> Iterator[Stretch]:
    """The stretches of a document, in order; together they are its text.

    >>> [part.document.text for part in stretches(Document("id", "one two three"), longest=8)]
    ['one two ', 'three']

    Args:
        document: Of any length.
        longest: Number of characters of a stretch (default: `STRETCH_CHARACTERS`).
    """
    longest = longest or STRETCH_CHARACTERS
    text = document.text
    marked = document.sentences is not None or document.words is not None
    if len(text) <= longest or marked:
        yield Stretch(document, 0)
        return
    start = 0
    while start < len(text):
        end = _end(text, start, longest)
        yield Stretch(Document(document.id, text[start:end], label=document.label), start)
        start = end


def _end(text: str, start: int, longest: int) -> int:
    """The end of the stretch that starts here: in its second half, at the best divider there is."""
    if len(text) - start <= longest:
        return len(text)
    for divider in _DIVIDERS:
        found = text.rfind(divider, start + longest // 2, start + longest)
        if found >= 0:
            return found + len(divider)
    return start + longest
