"""Training texts: texts with known sentence starts, made from texts nobody has labelled.

Sentences are found by rules where punctuation is intact; then the text is made as hard as the ones
the segmenter will meet. For the unpunctuated mode, all punctuation and case go. For the punctuated
mode, some full stops and capitals go, as in headings, lists and chat: otherwise a network would
learn nothing but to repeat the rules.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headscope.segment.bare_text import bare_text
from headscope.segment.mode import Mode
from headscope.text.document import Document
from headscope.text.sentences import sentence_spans

_FINAL_MARKS = re.compile(r"[.!?…:;]+([\"'”’)\]]*)\s*\Z")  # noqa: RUF001
_UNMARKED = (0.0, 0.1, 0.4)
_LOWERED = (0.0, 0.0, 0.3)
"""Shares of the sentences of a text that lose their final mark, or their capital."""

_SHORT_WORDS = 16
_SHUFFLED_SENTENCES = 60


@dataclass(frozen=True, slots=True)
class TrainingText:
    """A text, and the characters at which its sentences begin, the first one left out."""

    text: str
    starts: tuple[int, ...]


def training_texts(
    documents: Sequence[Document], mode: Mode, rng: random.Random
) -> list[TrainingText]:
    """The documents as a segmenter of that mode meets them.

    Documents without gold sentences teach a second time with their short sentences in random order:
    a boundary between sentences that have nothing to do with each other, as in lists and chat.
    """
    unlabelled = [document for document in documents if document.sentences is None]
    texts = []
    for number, document in enumerate([*documents, *shuffled_documents(unlabelled, rng)]):
        starts = [start for start, _ in sentence_spans(document)[1:]]
        if mode == "unpunctuated":
            bare = bare_text(document.text, starts, keep_apostrophes=number % 2 == 0)
            texts.append(TrainingText(bare.text, bare.starts))
        elif number < len(documents) and document.sentences is not None:
            texts.append(TrainingText(document.text, tuple(starts)))
        else:
            texts.append(roughened(document, rng))
    return texts


def shuffled_documents(documents: Iterable[Document], rng: random.Random) -> list[Document]:
    """Documents of 60 sentences each: all that have at most 16 words, in random order."""
    short = [
        sentence
        for document in documents
        for start, end in sentence_spans(document)
        if 0 < len((sentence := document.text[start:end].strip()).split()) <= _SHORT_WORDS
    ]
    rng.shuffle(short)
    shuffled = []
    for first in range(0, len(short), _SHUFFLED_SENTENCES):
        spans, length = [], 0
        sentences = short[first : first + _SHUFFLED_SENTENCES]
        for sentence in sentences:
            spans.append((length, length + len(sentence)))
            length += len(sentence) + 1
        shuffled.append(Document(f"shuffled:{first}", " ".join(sentences), tuple(spans)))
    return shuffled


def roughened(document: Document, rng: random.Random) -> TrainingText:
    """The document on one line, some of its sentences without their final mark or capital."""
    unmarked, lowered = rng.choice(_UNMARKED), rng.choice(_LOWERED)
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for start, end in sentence_spans(document):
        words = document.text[start:end].strip()
        if rng.random() < unmarked:
            words = _FINAL_MARKS.sub(r"\1", words)
        if rng.random() < lowered:
            words = words[:1].lower() + words[1:]
        if not words:
            continue
        if parts:
            starts.append(length)
        parts.append(f"{words} ")
        length += len(words) + 1
    return TrainingText("".join(parts), tuple(starts))
