"""Sentence boundaries compared with gold ones, with baselines and peers alongside."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from headscope.errors import CorpusError
from headscope.segment.evaluation.baselines import (
    even_starts,
    punctuation_split,
    random_starts,
    visible_places,
    visible_starts,
    word_boundaries,
    words_to_visible,
)
from headscope.segment.evaluation.peers import installed_peers
from headscope.segment.metrics import (
    BoundaryCounts,
    boundary_similarity,
    count_boundaries,
    pk,
    window_diff,
)
from headscope.segment.segmenter import Segmenter
from headscope.segment.training.bare_text import bare_text
from headscope.text.document import Document

Condition = Literal["as written", "one line", "bare"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
"""Texts as they are; without line breaks; without punctuation, case or line breaks."""

COLUMNS = (
    "condition",
    "method",
    "f1",
    "precision",
    "recall",
    "pk",
    "window_diff",
    "boundary_similarity",
    "characters_per_second",
)


@dataclass(frozen=True, slots=True)
class GoldText:
    """A text with its gold sentence starts, in visible characters."""

    text: str
    starts: list[int]


def evaluate_sentences(
    segmenter: Segmenter,
    documents: Sequence[Document],
    *,
    seed: int = 0,
    on_method: Callable[[str], None] = lambda method: None,
) -> pd.DataFrame:
    """A row per condition and method: F1 over all texts, window metrics over words.

    Pk, WindowDiff and Boundary Similarity are means over texts with at least one boundary. Only the
    methods `even` and `random` are given the number of sentences.

    Args:
        segmenter: The segmenter that is judged.
        documents: Those with gold sentences are used.
        seed: Of the method `random`.
        on_method: Called with each condition and method before it is run.

    Raises:
        CorpusError: No document has gold sentences.
    """
    gold = [document for document in documents if document.sentences is not None]
    if not any(len(document.sentences or ()) > 1 for document in gold):
        raise CorpusError(
            "the corpus has no gold sentences to compare with; give a .conllu file, or judge topics"
        )
    rows = []
    for condition in CONDITIONS:
        texts = [gold_text(document, condition) for document in gold]
        for method, split in _methods(segmenter, texts, seed).items():
            on_method(f"{condition}: {method}")
            began = time.perf_counter()
            found = split([text.text for text in texts])
            elapsed = time.perf_counter() - began
            rows.append({"condition": condition, "method": method} | _row(texts, found, elapsed))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def gold_text(document: Document, condition: Condition) -> GoldText:
    """The document under a condition.

    Args:
        document: With gold sentences.
        condition: One of `CONDITIONS`.
    """
    starts = [start for start, _ in (document.sentences or ())[1:]]
    if condition == "bare":
        bare = bare_text(document.text, starts)
        return GoldText(bare.text, visible_places(bare.text, bare.starts))
    text = document.text if condition == "as written" else " ".join(document.text.split())
    return GoldText(text, visible_places(document.text, starts))


SplitAll = Callable[[Sequence[str]], list[list[int]]]
"""Texts in, the starts of their sentences in visible characters out."""


def _methods(segmenter: Segmenter, texts: Sequence[GoldText], seed: int) -> dict[str, SplitAll]:
    rng = np.random.default_rng(seed)
    counts = [len(text.starts) + 1 for text in texts]

    def one_by_one(split: Callable[[str], list[str]]) -> SplitAll:
        return lambda all_texts: [visible_starts(split(text)) for text in all_texts]

    def given_number(places: Callable[[int, int], list[int]]) -> SplitAll:
        return lambda all_texts: [
            words_to_visible(text, places(len(text.split()), count))
            for text, count in zip(all_texts, counts, strict=True)
        ]

    return {
        "headscope": lambda all_texts: [visible_starts(p) for p in segmenter.split(all_texts)],
        **{name: one_by_one(split) for name, split in installed_peers()},
        "punctuation": one_by_one(punctuation_split),
        "even": given_number(even_starts),
        "random": given_number(lambda words, count: random_starts(words, count, rng)),
        "none": lambda all_texts: [[] for _ in all_texts],
    }


def _row(
    texts: Sequence[GoldText], found: Sequence[Sequence[int]], elapsed: float
) -> dict[str, float]:
    counts = BoundaryCounts()
    windows: list[tuple[float, float, float]] = []
    for text, starts in zip(texts, found, strict=True):
        counts += count_boundaries(starts, text.starts)
        reference = word_boundaries(text.text, text.starts)
        if reference.any():
            guess = word_boundaries(text.text, starts)
            windows.append(
                (
                    pk(guess, reference),
                    window_diff(guess, reference),
                    boundary_similarity(guess, reference),
                )
            )
    means = np.nanmean(np.array(windows), axis=0)
    return {
        "f1": counts.f1,
        "precision": counts.precision,
        "recall": counts.recall,
        "pk": float(means[0]),
        "window_diff": float(means[1]),
        "boundary_similarity": float(means[2]),
        "characters_per_second": sum(len(text.text) for text in texts) / max(elapsed, 1e-9),
    }
