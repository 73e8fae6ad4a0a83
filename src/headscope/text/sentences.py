"""Sentences: where each sentence of a text starts and ends."""

import re
from collections.abc import Iterator

import nupunkt

from headscope.text.document import Document

SENTENCE_MARKS = "。！？．｡।॥؟۔։።"  # noqa: RUF001  full-width forms are meant
"""Marks that end a sentence whatever follows: no space need be written after them, and they stand
in no abbreviation."""
CLOSERS = "\"'”’)]»」』）》】〉"  # noqa: RUF001
"""What may stand between the mark that ends a sentence and the next sentence."""

_BLANK_LINES = re.compile(r"\n\s*\n\s*")
_AFTER_MARK = re.compile(rf"[{SENTENCE_MARKS}]+[{re.escape(CLOSERS)}]*\s*")


def sentence_spans(document: Document) -> list[tuple[int, int]]:
    """The sentences of a document as character spans [start, end), in order.

    Gold where the corpus has them, otherwise what `split_sentences` finds.
    """
    if document.sentences is not None:
        return list(document.sentences)
    return list(split_sentences(document.text))


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Sentence spans that cover the text without gaps; white space after a sentence belongs to it.

    Found by nupunkt, an implementation of Punkt (Kiss and Strunk 2006) with an English model, which
    also does well in other languages that write full stops and spaces; and after the marks of
    those that do not, such as Chinese. A blank line always ends a sentence, so headings without a
    full stop stay apart from what follows.

    >>> text = "他来了。我走了！ Yes. No."
    >>> [text[start:end] for start, end in split_sentences(text)]
    ['他来了。', '我走了！ ', 'Yes. ', 'No.']
    """  # noqa: RUF002
    start = 0
    for gap in _BLANK_LINES.finditer(text):
        yield from _split_paragraph(text, start, gap.end())
        start = gap.end()
    yield from _split_paragraph(text, start, len(text))


def _split_paragraph(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    paragraph = text[start:end]
    if not paragraph:
        return
    # Only the starts are taken: with the next start as the end, the spans cover the paragraph.
    starts = [0, *(span[0] for span in nupunkt.sent_spans(paragraph)[1:])]
    marked = {found.end() for found in _AFTER_MARK.finditer(paragraph)}
    if marked:
        starts = sorted({*starts, *marked} - {len(paragraph)})
    for first, after in zip(starts, [*starts[1:], len(paragraph)], strict=True):
        yield start + first, start + after
