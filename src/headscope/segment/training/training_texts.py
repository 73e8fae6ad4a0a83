"""Training texts: texts with known sentence starts, made from texts nobody has labelled.

Sentences are found by rules while the punctuation is intact; then the text is made as hard as those
the segmenter will meet. For the unpunctuated mode, all punctuation and case are removed. For the
punctuated mode, some full stops and capitals are, as in headings, lists and chat: otherwise the
network would only learn to repeat the rules.
"""

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headscope.segment.sentences.mode import Mode
from headscope.segment.training.bare_text import bare_text
from headscope.text.document import Document
from headscope.text.sentences import sentence_spans

_FINAL_MARKS = re.compile(r"[.!?…:;]+([\"'”’)\]]*)\s*\Z")  # noqa: RUF001
_UNMARKED = (0.0, 0.1, 0.4)
_LOWERED = (0.0, 0.0, 0.3)
_HEADINGS = (0.0, 0.1, 0.3)
_PARAGRAPHS = (0.0, 0.0, 0.3)
_BROKEN_LINES = (0.0, 0.0, 0.0, 0.08)
"""The shares of sentences that lose their final mark, lose their capital, follow a heading or begin
a paragraph, and of words that begin a line. One of each is drawn for every text."""

_OTHER_MARKS = ("!", "!", "?", "!!", "...", "..", " .", "?!")
_OTHER_MARK_RATE = 0.2

_SHORT_WORDS = 16
_PERMUTED_SENTENCES = 60


@dataclass(frozen=True, slots=True)
class TrainingText:
    """A text, and the characters at which its sentences begin, without the first."""

    text: str
    starts: tuple[int, ...]


def training_texts(
    documents: Sequence[Document], mode: Mode, rng: random.Random
) -> list[TrainingText]:
    """The documents as a segmenter of that mode meets them.

    Documents without gold sentences are used a second time, with their short sentences permuted:
    neighbours then have nothing to do with each other, as in lists and chat.

    Args:
        documents: With gold sentences, or with punctuation that rules can find sentences by.
        mode: The mode that is trained.
        rng: Decides what is changed.
    """
    unlabelled = [document for document in documents if document.sentences is None]
    texts = []
    for number, document in enumerate([*documents, *permuted_sentences(unlabelled, rng)]):
        starts = [start for start, _ in sentence_spans(document)[1:]]
        text = TrainingText(document.text, tuple(starts))
        if mode == "punctuated" and (number >= len(documents) or document.sentences is None):
            text = noisy_text(document, rng)
        elif mode == "unpunctuated":
            bare = bare_text(text.text, text.starts, keep_apostrophes=number % 2 == 0)
            text = TrainingText(bare.text, bare.starts)
        texts.append(text)
    return texts


def permuted_sentences(documents: Iterable[Document], rng: random.Random) -> list[Document]:
    """Documents of 60 short sentences each: all of at most 16 words, in random order.

    Args:
        documents: Where the sentences are taken from.
        rng: Decides the order.
    """
    short = [
        sentence
        for document in documents
        for start, end in sentence_spans(document)
        if 0 < len((sentence := document.text[start:end].strip()).split()) <= _SHORT_WORDS
    ]
    rng.shuffle(short)
    permuted = []
    for first in range(0, len(short), _PERMUTED_SENTENCES):
        spans, length = [], 0
        sentences = short[first : first + _PERMUTED_SENTENCES]
        for sentence in sentences:
            spans.append((length, length + len(sentence)))
            length += len(sentence) + 1
        permuted.append(Document(f"shuffled:{first}", " ".join(sentences), tuple(spans)))
    return permuted


def noisy_text(document: Document, rng: random.Random) -> TrainingText:
    """The document, written as carelessly as people write on the web.

    Some sentences lose their final mark or their capital, or get another mark. Headings come
    between them, made of the first words of other sentences. There may be paragraphs, and line
    breaks anywhere.

    Args:
        document: A document with punctuation.
        rng: Decides what is changed.
    """
    sentences = [document.text[start:end].strip() for start, end in sentence_spans(document)]
    unmarked, lowered, headings, paragraphs, broken = (
        rng.choice(rates) for rates in (_UNMARKED, _LOWERED, _HEADINGS, _PARAGRAPHS, _BROKEN_LINES)
    )
    rough: list[str] = []
    for sentence in sentences:
        if rng.random() < headings:
            rough.append(_heading(rng.choice(sentences), rng))
        if rng.random() < unmarked:
            sentence = _FINAL_MARKS.sub(r"\1", sentence)
        elif rng.random() < _OTHER_MARK_RATE:
            sentence = _FINAL_MARKS.sub(rf"{rng.choice(_OTHER_MARKS)}\1", sentence)
        if rng.random() < lowered:
            sentence = sentence[:1].lower() + sentence[1:]
        words = sentence.split()
        breaks = ["\n" if rng.random() < broken else " " for _ in words[1:]]
        rough.append("".join(map("".join, zip(words, [*breaks, ""], strict=True))))
    text = ""
    starts: list[int] = []
    for sentence in filter(None, rough):
        if text:
            text += rng.choice(("\n", "\n\n")) if rng.random() < paragraphs else " "
            starts.append(len(text))
        text += sentence
    return TrainingText(text, tuple(starts))


def _heading(sentence: str, rng: random.Random) -> str:
    """The first words of a sentence, written like a heading, a greeting or a signature."""
    words = [word.strip(".,;:!?\"'()") for word in sentence.split()[: rng.randint(1, 6)]]
    heading = " ".join(word for word in words if word)
    written = rng.choice((str.title, str.title, str.upper, str.capitalize))(heading)
    return written + rng.choice(("", "", "", ":", ",", " -")) if written else ""
