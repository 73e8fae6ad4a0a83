"""A random sample of a corpus that is read once, as a stream, and not held in memory.

Documents are drawn first, windows second:

1. Every document gets a random number. Kept are the documents with the smallest ones, as many as
   windows are asked for: a uniform sample of the documents that have windows at all.
2. Windows are taken in rounds over the documents kept: one of each, then a second one of each that
   has more, until there are enough. Which ones is random. So the sample has as many documents as
   possible, which matters since intervals resample documents.
3. The sample is put into the order of the corpus.

A document is tokenised when it enters the sample, which most documents of a large corpus never do.
Its random number depends on the seed and on its place alone: models with different tokenizers read
the same documents.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace

from headscope.text.document import Document


@dataclass(frozen=True, slots=True)
class DrawnDocument:
    """A document of the sample."""

    document: Document
    windows: tuple[int, ...]
    """Which of its windows are in the sample, counted from 0 in the document."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was drawn, in the order of the corpus."""

    documents: tuple[DrawnDocument, ...]
    windows_available: int | None
    """Number of windows of the whole corpus; None where not every document was tokenised."""

    @property
    def windows(self) -> int:
        """Number of windows in the sample."""
        return sum(len(drawn.windows) for drawn in self.documents)


def draw_sample(
    documents: Iterable[Document],
    count_windows: Callable[[Document], int],
    texts: int,
    seed: int,
) -> Sample:
    """A random sample of windows: `texts` of them, or all that there are.

    Args:
        documents: The corpus, of which at most `texts` documents are held in memory.
        count_windows: Tokenises a document and gives its number of windows.
        texts: Number of windows.
        seed: The same seed and corpus give the same sample.
    """
    # Only `random()` is used: its numbers are the same in every version of Python.
    chance = random.Random(seed)
    kept: list[tuple[float, int, Document, int]] = []  # a heap: the largest random number first
    all_counted = True
    for place, document in enumerate(documents):
        number = chance.random()
        full = len(kept) == texts
        if full and number >= -kept[0][0]:
            all_counted = False
            continue
        windows = count_windows(document)
        if windows == 0:
            continue
        entry = (-number, place, document, windows)
        if full:
            heapreplace(kept, entry)
            all_counted = False
        else:
            heappush(kept, entry)

    kept.sort(reverse=True)  # rounds go through the documents in the order of their numbers
    shares = _shares([windows for *_, windows in kept], texts)
    in_order = sorted(zip(kept, shares, strict=True), key=lambda drawn: drawn[0][1])
    return Sample(
        documents=tuple(
            DrawnDocument(document, _choose(windows, share, chance))
            for (_, _, document, windows), share in in_order
            if share
        ),
        windows_available=sum(windows for *_, windows in kept) if all_counted else None,
    )


def _shares(sizes: Sequence[int], texts: int) -> list[int]:
    """The number of windows that each document gives, by rounds."""
    shares = [0] * len(sizes)
    left, with_more = texts, list(range(len(sizes)))
    while left and with_more:
        of_this_round = with_more[:left]
        for place in of_this_round:
            shares[place] += 1
        left -= len(of_this_round)
        with_more = [place for place in with_more if shares[place] < sizes[place]]
    return shares


def _choose(windows: int, share: int, chance: random.Random) -> tuple[int, ...]:
    """A random choice of `share` windows of a document, in order."""
    if share == windows:
        return tuple(range(windows))
    shuffled = sorted(range(windows), key=lambda _: chance.random())
    return tuple(sorted(shuffled[:share]))
