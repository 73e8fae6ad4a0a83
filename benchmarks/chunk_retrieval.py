"""Do chunks cut at topics and sentences help retrieval, at equal size?

    python benchmarks/chunk_retrieval.py EWT-TRAIN.conllu.gz SOTU.jsonl.gz [--characters 60000]

Offline, and without labels. Documents that the shipped weights were not learned from: web texts,
ten joined to one text, and addresses as they are. Questions: in web texts the first sentence of
each document, in addresses every eighth sentence. A question is taken out of its text, and its
answer is the three sentences that followed it. Chunks and questions are embedded by the demo model
(the mean of its last states), and the five chunks nearest to a question are compared with its
answer, in characters. Every method is given the size that makes its mean chunk as large as the
others'. LangChain's and Chonkie's splitters are measured if they are installed.
"""

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

import headscope as hs
from headscope.segment.chunks.cut_places import TOPIC, CutPlaces
from headscope.segment.chunks.limits import ChunkLimits
from headscope.segment.chunks.pack import pack
from headscope.segment.cutter import Cutter
from headscope.segment.options import SegmentSettings
from headscope.segment.topics.sentence_similarity import sentence_vectors
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.sentences import sentence_spans, split_sentences

ANSWER_SENTENCES = 3
NEAREST = 5
Span = tuple[int, int]
Chunker = Callable[[str, int], list[Span]]
"""A text and a size in, spans out."""


@dataclass(frozen=True)
class Question:
    words: str
    text: int
    answer: Span


@dataclass(frozen=True)
class Texts:
    texts: list[str]
    questions: list[Question]


class Builder:
    """Texts from which questions are taken out."""

    def __init__(self) -> None:
        self.made = Texts([], [])
        self.text = ""

    def add(self, sentences: Sequence[str], question_at: Callable[[int], bool]) -> None:
        waiting: str | None = None
        number, start = 0, 0
        for place, sentence in enumerate(sentences):
            is_question = question_at(place) and len(sentence.split()) > 4
            if is_question and place + ANSWER_SENTENCES < len(sentences):
                waiting, number, start = sentence, 0, len(self.text)
                continue
            self.text += sentence + " "
            number += 1
            if waiting is not None and number == ANSWER_SENTENCES:
                answer = (start, len(self.text) - 1)
                self.made.questions.append(Question(waiting, len(self.made.texts), answer))
                waiting = None

    def finish(self) -> None:
        self.made.texts.append(self.text)
        self.text = ""


def sentences_of(document: Document) -> list[str]:
    return [" ".join(document.text[a:b].split()) for a, b in sentence_spans(document)]


def web_texts(documents: Sequence[Document], characters: int) -> Texts:
    builder, together = Builder(), 0
    order = np.random.default_rng(0).permutation(len(documents))
    for number in order:
        sentences = sentences_of(documents[number])
        if len(sentences) > ANSWER_SENTENCES and sum(map(len, builder.made.texts)) < characters:
            builder.add(sentences[:30], lambda place: place == 0)
            together += 1
            if together % 10 == 0:
                builder.finish()
    return builder.made


def address_texts(documents: Sequence[Document], characters: int) -> Texts:
    builder = Builder()
    recent = [document for document in documents if int(document.id[:4]) >= 1930]
    for document in recent:
        if sum(map(len, builder.made.texts)) < characters:
            builder.add(sentences_of(document)[:120], lambda place: place % 8 == 0)
            builder.finish()
    return builder.made


def fixed(segmenter: hs.Segmenter, text: str, size: int) -> list[Span]:
    starts = segmenter.model.tokenizer.encode(text).starts.tolist()[::size]
    return list(pairwise([*starts, len(text)]))


def packed_sentences(segmenter: hs.Segmenter, text: str, size: int) -> list[Span]:
    """As many sentences as fit, one after another; those that are too long stand alone."""
    count = segmenter.token_counter()
    spans: list[Span] = []
    tokens = 0
    for start, end in split_sentences(text):
        its = count(text[start:end])
        if spans and tokens + its <= size:
            spans[-1] = (spans[-1][0], end)
            tokens += its
        else:
            spans.append((start, end))
            tokens = its
    return spans


class Headscope:
    """Chunks by the segmenter; sentences and topics are found once for all sizes."""

    def __init__(self, segmenter: hs.Segmenter, by: str) -> None:
        self.count = segmenter.token_counter()
        self.by = by
        self.cutter = Cutter(segmenter.model, lambda: segmenter.weights, SegmentSettings())
        self.places: dict[str, CutPlaces] = {}

    def __call__(self, text: str, size: int) -> list[Span]:
        if text not in self.places:
            sentences = self.cutter.sentences([text])[0]
            gains = dict(zip(sentences.starts, sentences.gains, strict=True))
            if self.by == "topic":
                gains |= dict.fromkeys(self.cutter.topic_starts(text, sentences), TOPIC)
            self.places[text] = CutPlaces.of(list(gains), list(gains.values()))
        return pack(text, self.places[text], ChunkLimits(size), self.count)


def in_text(text: str, pieces: Sequence[str]) -> list[Span]:
    """Where pieces stand in a text; white space between them is left out."""
    spans, place = [], 0
    for piece in pieces:
        place = text.index(piece.strip(), place)
        spans.append((place, place + len(piece.strip())))
        place = spans[-1][1]
    return spans


def recursive(segmenter: hs.Segmenter, text: str, size: int) -> list[Span]:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        separators=["\n\n", "\n", ". ", " ", ""],
        keep_separator="end",
        chunk_size=size,
        chunk_overlap=0,
        length_function=segmenter.token_counter(),
    )
    return in_text(text, splitter.split_text(text))


class Embedder:
    """Texts as unit vectors; each text is read once, however often it is asked for."""

    def __init__(self, segmenter: hs.Segmenter) -> None:
        self.model = segmenter.model
        self.kept: dict[str, np.ndarray] = {}

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self.kept]
        if new:
            assert self.model.tokenizer is not None
            vectors = sentence_vectors(self.model, [self.model.tokenizer.encode(t) for t in new])
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
            self.kept.update(zip(new, vectors, strict=True))
        return np.stack([self.kept[text] for text in texts])


def chonkie_semantic(segmenter: hs.Segmenter, embed: Embedder) -> Chunker:
    from chonkie import SemanticChunker
    from chonkie.embeddings import BaseEmbeddings

    class DemoEmbeddings(BaseEmbeddings):
        def embed(self, text: str) -> np.ndarray:
            return self.embed_batch([text])[0]

        def embed_batch(self, texts: list[str]) -> list[np.ndarray]:
            return list(embed(texts).astype(np.float32))

        @property
        def dimension(self) -> int:
            return int(segmenter.model.config.hidden_size)

        def get_tokenizer(self) -> Any:
            return segmenter.token_counter()

    def chunk(text: str, size: int) -> list[Span]:
        chunks = SemanticChunker(DemoEmbeddings(), chunk_size=size).chunk(text)
        return [(chunk.start_index, chunk.end_index) for chunk in chunks]

    return chunk


def langchain_semantic(embed: Embedder) -> Chunker:
    """Cuts after a share of the sentences: the size is that share, in quarters of a percent."""
    from langchain_experimental.text_splitter import SemanticChunker

    class DemoEmbeddings:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            found: list[list[float]] = embed(texts).tolist()
            return found

    def chunk(text: str, size: int) -> list[Span]:
        percentile = min(99.9, size / 4)
        splitter = SemanticChunker(DemoEmbeddings(), breakpoint_threshold_amount=percentile)
        return in_text(re.sub(r"\s", " ", text), splitter.split_text(text))

    return chunk


def chunkers(segmenter: hs.Segmenter, embed: Embedder) -> Iterator[tuple[str, Chunker]]:
    yield "headscope, topics first", Headscope(segmenter, "topic")
    yield "headscope, sentences", Headscope(segmenter, "sentence")
    yield "fixed size", partial(fixed, segmenter)
    yield "sentence packing", partial(packed_sentences, segmenter)
    if find_spec("langchain_text_splitters"):
        yield "recursive (LangChain)", partial(recursive, segmenter)
    if find_spec("chonkie"):
        yield "semantic (Chonkie)", chonkie_semantic(segmenter, embed)
    if find_spec("langchain_experimental"):
        yield "semantic (LangChain)", langchain_semantic(embed)


def at_mean_size(chunker: Chunker, texts: Sequence[str], tokens: int) -> list[list[Span]]:
    """The chunks of all texts with the size whose mean, in tokens of the texts, is nearest."""
    wanted = tokens * 4.2  # characters: the same scale for all methods
    low, high = 4, 16 * tokens
    best: list[list[Span]] = []
    gap = np.inf
    while low <= high:
        size = (low + high) // 2
        found = [chunker(text, size) for text in texts]
        mean = sum(map(len, texts)) / sum(map(len, found))
        if abs(mean - wanted) < gap:
            best, gap = found, abs(mean - wanted)
        if mean < wanted:
            low = size + 1
        else:
            high = size - 1
    return best


def scores(embed: Embedder, made: Texts, spans: Sequence[Sequence[Span]]) -> np.ndarray:
    """A row per question: recall and intersection over union of its answer."""
    places = [(number, start, end) for number, its in enumerate(spans) for start, end in its]
    vectors = embed([made.texts[number][start:end] for number, start, end in places])
    questions = embed([question.words for question in made.questions])
    rows = []
    for question, nearness in zip(made.questions, questions @ vectors.T, strict=True):
        first, last = question.answer
        shared = found = 0
        for index in np.argsort(-nearness)[:NEAREST]:
            number, start, end = places[index]
            found += end - start
            if number == question.text:
                shared += max(0, min(end, last) - max(start, first))
        rows.append((shared / (last - first), shared / (found + last - first - shared)))
    return np.array(rows)


def interval(values: np.ndarray) -> str:
    drawn = np.random.default_rng(0).integers(len(values), size=(2000, len(values)))
    low, high = np.quantile(values[drawn].mean(1), [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("web")
    parser.add_argument("speeches")
    parser.add_argument("--characters", type=int, default=60_000, help="of each kind of text")
    parser.add_argument("--tokens", type=int, default=100, help="mean size of a chunk")
    parser.add_argument("--only", choices=["web texts", "addresses"])
    args = parser.parse_args()
    segmenter = hs.Segmenter("demo")
    embed = Embedder(segmenter)
    web = list(read_corpus([args.web]))[::5]
    speeches = list(read_corpus([args.speeches], Columns(id="id")))[::5]
    for name, made in (
        ("web texts", web_texts(web, args.characters)),
        ("addresses", address_texts(speeches, args.characters)),
    ):
        if args.only not in (None, name):
            continue
        print(f"\n{name}: {len(made.texts)} texts, {len(made.questions)} questions", flush=True)
        print("| | mean characters | recall | minus topics first | IoU | minus topics first |")
        print("| --- | --- | --- | --- | --- | --- |")
        ours: np.ndarray | None = None
        for method, chunker in chunkers(segmenter, embed):
            spans = at_mean_size(chunker, made.texts, args.tokens)
            found = scores(embed, made, spans)
            ours = found if ours is None else ours
            mean = sum(map(len, made.texts)) / sum(map(len, spans))
            cells = []
            for column in (0, 1):
                paired = "" if ours is found else interval(found[:, column] - ours[:, column])
                cells += [interval(found[:, column]), paired]
            print(f"| {method} | {mean:.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
