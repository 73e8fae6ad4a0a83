"""Which windows are read: documents drawn from a corpus, each paired with another one.

A document is drawn by a hash of its text and of the seed. So the same documents are drawn whatever
the length of the windows and whichever the model, as long as they are long enough.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from headscope.errors import CorpusError
from headscope.reach.plan import ReachPlan
from headscope.text.copies import document_hash
from headscope.text.document import Document
from headscope.text.windows import Window, WindowTokenizer, count_windows, cut_windows


@dataclass(order=True, slots=True)
class _Drawn:
    """A document that is among those drawn so far; the one that is to leave first is the least."""

    rank: bytes
    document: Document = field(compare=False)
    windows: int = field(compare=False)


@dataclass(frozen=True, eq=False, slots=True)
class DocumentPair:
    """Windows of two documents, as many of each, all of one length."""

    first: tuple[Window, ...]
    second: tuple[Window, ...]

    @property
    def windows(self) -> int:
        """Number of windows of both documents."""
        return len(self.first) + len(self.second)


def draw_pairs(
    documents: Iterable[Document],
    tokenizer: WindowTokenizer,
    plan: ReachPlan,
    on_document: Callable[[], None] = lambda: None,
) -> list[DocumentPair]:
    """Pairs of documents with their windows, from the whole corpus; copies count once.

    Args:
        documents: Of the corpus.
        tokenizer: Of the model.
        plan: How long windows are, how many there are, and the seed.
        on_document: Called after each document that was read.
    """
    special = len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
    sizes = {"window_tokens": plan.window_tokens, "min_tokens": plan.window_tokens - special}
    drawn: list[_Drawn] = []
    seen: set[bytes] = set()
    for document in documents:
        on_document()
        rank = sha256(f"{plan.seed} {document_hash(document.text)}".encode()).digest()
        # The heap's least is the document with the last rank, so ranks are turned round.
        turned = bytes(255 - byte for byte in rank)
        full = len(drawn) >= plan.windows
        if turned in seen or (full and turned < drawn[0].rank):
            continue
        if windows := count_windows(document, tokenizer, **sizes):
            seen.add(turned)
            push = heapq.heappushpop if full else heapq.heappush
            push(drawn, _Drawn(turned, document, windows))
    if len(drawn) < 2:
        raise CorpusError(
            f"{len(drawn)} documents have a window of {plan.window_tokens} tokens, and two are "
            "needed, one to be spliced with the other; ask for a shorter --window"
        )
    drawn.sort(reverse=True)
    each = -(-plan.windows // len(drawn))
    cut = [_cut(one, each, tokenizer, sizes, plan.seed) for one in drawn]
    return list(_paired(cut))


def _cut(
    drawn: _Drawn, number: int, tokenizer: WindowTokenizer, sizes: dict[str, int], seed: int
) -> tuple[Window, ...]:
    """Some windows of a document, in random order."""
    rng = np.random.default_rng([seed, *drawn.rank[:8]])
    chosen = rng.permutation(drawn.windows)[:number].tolist()
    cut = cut_windows(drawn.document, tokenizer, **sizes, only=frozenset(chosen))
    by_number = dict(zip(sorted(chosen), cut, strict=True))
    return tuple(by_number[one] for one in chosen)


def _paired(cut: list[tuple[Window, ...]]) -> Iterator[DocumentPair]:
    """Neighbours of the random order, paired; the last of an odd number stays alone."""
    for first, second in zip(cut[::2], cut[1::2], strict=False):
        number = min(len(first), len(second))
        yield DocumentPair(first[:number], second[:number])
