"""Which texts are read: one window of each of some documents, in random order.

A document is drawn by a hash of its text and of the seed. So the same documents are drawn whatever
the length of the windows and whichever the model, as long as they are long enough. Neighbours of
the random order are pairs: each is spliced with the other.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np

from headscope.errors import CorpusError
from headscope.measuring.windows import CorpusRequest
from headscope.text.copies import document_hash
from headscope.text.corpus import read_corpus
from headscope.text.document import Document
from headscope.text.windows import WindowTokenizer, count_windows, cut_windows

_MORE_CHARACTERS = 64
"""Characters after the window that are kept: cut out, its last words may be divided differently."""


@dataclass(order=True, slots=True)
class _Drawn:
    """A document that is among those drawn so far; the one that is to leave first is the least."""

    rank: bytes
    document: Document = field(compare=False)
    windows: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class DrawnRequest(CorpusRequest):
    """A corpus as parts of some of its documents, each with exactly one window of full length."""

    tokenizer: WindowTokenizer | None = None
    window_tokens: int = 0
    windows: int = 0
    """Maximum number of documents, of each of which one window is taken."""
    seed: int = 0
    on_document: Callable[[], None] = lambda: None
    """Called after each document that was read."""

    def documents(self) -> Iterator[Document]:
        """The parts, in random order; copies of a text are drawn once, and their number is even."""
        assert self.tokenizer is not None
        special = len(self.tokenizer.prefix_ids) + len(self.tokenizer.suffix_ids)
        sizes = {"window_tokens": self.window_tokens, "min_tokens": self.window_tokens - special}
        drawn: list[_Drawn] = []
        seen: set[bytes] = set()
        for document in read_corpus(self.sources, self.columns):
            self.on_document()
            rank = sha256(f"{self.seed} {document_hash(document.text)}".encode()).digest()
            full = len(drawn) >= self.windows
            if rank in seen or (full and rank < drawn[0].rank):
                continue
            if windows := count_windows(document, self.tokenizer, **sizes):
                seen.add(rank)
                push = heapq.heappushpop if full else heapq.heappush
                push(drawn, _Drawn(rank, document, windows))
        drawn.sort(reverse=True)
        parts = [_part(one, self.tokenizer, sizes, self.seed) for one in drawn]
        usable = [part for part in parts if count_windows(part, self.tokenizer, **sizes) == 1]
        if len(usable) < 2:
            raise CorpusError(
                f"corpus {self}: {len(usable)} documents have a window of {self.window_tokens} "
                "tokens, and two are needed, one to be spliced with the other; ask for a shorter "
                "--window"
            )
        yield from usable[: len(usable) // 2 * 2]


def _part(drawn: _Drawn, tokenizer: WindowTokenizer, sizes: dict[str, int], seed: int) -> Document:
    """The part of a document that one of its windows covers, at random, and a little more."""
    rng = np.random.default_rng([seed, *drawn.rank[:8]])
    chosen = int(rng.permutation(drawn.windows)[0])
    document = drawn.document
    (window,) = cut_windows(document, tokenizer, **sizes, only={chosen})
    body = ~window.special
    start = int(window.starts[body].min())
    end = int(window.ends[body].max()) + _MORE_CHARACTERS
    return part_of_document(document, start, end)


def part_of_document(document: Document, start: int, end: int) -> Document:
    """A stretch of a document, with its sentences and words, where the corpus marks any.

    Args:
        document: The whole.
        start: First character.
        end: The character after the last.
    """
    sentences, words = document.sentences, document.words
    end = min(end, len(document.text))
    if sentences is not None:
        sentences = tuple(
            (max(low, start) - start, min(high, end) - start)
            for low, high in sentences
            if low < end and high > start
        )
    if words is not None:
        words = tuple(
            replace(word, start=word.start - start, end=word.end - start)
            for word in words
            if start <= word.start and word.end <= end
        )
    return replace(document, text=document.text[start:end], sentences=sentences, words=words)
