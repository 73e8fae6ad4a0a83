"""Topic boundaries in concatenated passages, with baselines and peers alongside."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pandas as pd

from headscope.errors import CorpusError
from headscope.segment.evaluation.baselines import even_starts, random_starts
from headscope.segment.evaluation.c99 import c99
from headscope.segment.metrics import (
    BoundaryCounts,
    boundaries_at,
    boundary_similarity,
    count_boundaries,
    pk,
    window_diff,
)
from headscope.segment.segmenter import Segmenter
from headscope.text.document import Document
from headscope.text.sentences import sentence_spans

COLUMNS = ("method", "pk", "window_diff", "boundary_similarity", "f1", "segments")


@dataclass(frozen=True, slots=True)
class ConcatenatedText:
    """Passages of different documents one after another: sentences, and where passages begin."""

    sentences: list[str]
    starts: list[int]


def concatenate_passages(
    documents: Sequence[Document],
    *,
    texts: int = 20,
    passages: int = 10,
    shortest: int = 5,
    longest: int = 15,
    seed: int = 0,
) -> list[ConcatenatedText]:
    """Texts made of passages, each of consecutive sentences of another document (Choi 2000).

    Args:
        documents: Where the passages are taken from.
        texts: Number of texts to make.
        passages: Number of passages of each.
        shortest: Fewest sentences of a passage.
        longest: Most sentences of a passage; documents with fewer are not used.
        seed: Of all choices.

    Raises:
        CorpusError: Too few documents are long enough.
    """
    all_sentences = [
        [document.text[start:end].strip() for start, end in sentence_spans(document)]
        for document in documents
    ]
    long_enough = [sentences for sentences in all_sentences if len(sentences) >= longest]
    if len(long_enough) < passages:
        raise CorpusError(
            f"{len(long_enough)} documents have {longest} sentences or more, but a text needs "
            f"passages from {passages}; give more documents, or fewer or shorter passages"
        )
    rng = random.Random(seed)
    made = []
    for _ in range(texts):
        sentences: list[str] = []
        starts: list[int] = []
        for source in rng.sample(long_enough, passages):
            length = rng.randint(shortest, longest)
            first = rng.randrange(len(source) - length + 1)
            starts.append(len(sentences))
            sentences += source[first : first + length]
        made.append(ConcatenatedText(sentences, starts[1:]))
    return made


def evaluate_topics(
    segmenter: Segmenter,
    texts: Sequence[ConcatenatedText],
    *,
    seed: int = 0,
    on_method: Callable[[str], None] = lambda method: None,
) -> pd.DataFrame:
    """A row per method: window metrics over sentences (means over texts), F1 over all texts.

    The methods marked `(n)`, `even` and `random` are given the number of segments.

    Args:
        segmenter: The segmenter that is judged.
        texts: Texts with known topics, see `concatenate_passages`.
        seed: Of the method `random`.
        on_method: Called with each method before it is run.
    """
    rng = np.random.default_rng(seed)
    methods: dict[str, Callable[[ConcatenatedText], list[int]]] = {
        "headscope": lambda text: segmenter.topics(text.sentences),
        "headscope (n)": lambda text: segmenter.topics(text.sentences, len(text.starts) + 1),
        "C99": lambda text: c99(text.sentences),
        "C99 (n)": lambda text: c99(text.sentences, len(text.starts) + 1),
        "even": lambda text: even_starts(len(text.sentences), len(text.starts) + 1),
        "random": lambda text: random_starts(len(text.sentences), len(text.starts) + 1, rng),
        "none": lambda text: [],
    }
    if find_spec("nltk") is not None:
        methods["TextTiling"] = lambda text: _text_tiling(text.sentences)
    rows = []
    for method, find in methods.items():
        on_method(method)
        rows.append({"method": method} | _row(texts, [find(text) for text in texts]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(texts: Sequence[ConcatenatedText], found: Sequence[list[int]]) -> dict[str, float]:
    counts = BoundaryCounts()
    metrics = []
    for text, starts in zip(texts, found, strict=True):
        counts += count_boundaries(starts, text.starts)
        reference = boundaries_at(text.starts, len(text.sentences))
        guess = boundaries_at(starts, len(text.sentences))
        metrics.append(
            (
                pk(guess, reference),
                window_diff(guess, reference),
                boundary_similarity(guess, reference),
            )
        )
    means = np.nanmean(np.array(metrics), axis=0)
    return {
        "pk": float(means[0]),
        "window_diff": float(means[1]),
        "boundary_similarity": float(means[2]),
        "f1": counts.f1,
        "segments": float(np.mean([len(starts) + 1 for starts in found])),
    }


def _text_tiling(sentences: Sequence[str]) -> list[int]:
    """TextTiling (Hearst 1997) from nltk. It cuts at paragraphs, so each sentence is made one."""
    from nltk.tokenize import TextTilingTokenizer

    text = "\n\n".join(sentences)
    try:
        tiles = TextTilingTokenizer(stopwords=[]).tokenize(text)
    except ValueError:
        return []  # it refuses texts that are too short for it
    ends = np.cumsum([len("".join(sentence.split())) for sentence in sentences])
    starts: list[int] = []
    length = 0
    for tile in tiles[:-1]:
        length += len("".join(tile.split()))
        starts.append(int(np.searchsorted(ends, length)) + 1)
    return sorted({start for start in starts if 0 < start < len(sentences)})
