"""Simulated studies: a run and its untrained models with known truth, over documents that vary.

A rate of a document is its mean plus a level that trained and untrained models share (documents are
paired), plus noise of the layer and of the head. Untrained models read shares of the documents as
in a run, and each has a level of its own in every layer: the variance between seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from zlib import crc32

import numpy as np

from headscope.findings.claims import Evidence
from headscope.findings.resampling.bootstrap import Draws, draw_documents
from headscope.findings.resampling.resampled_run import ResampledRun
from headscope.measuring.sample import share_of_seed

LAYERS, HEADS, PAIRS = 6, 4, 80
RANDOM_DISTANCE = 40.0
RESAMPLES = 400
"""As many as the package draws for each choice."""
SHARE = 20
"""Documents that an untrained model reads, as in a run with --nulls 20."""
DIFFERENT_CORPORA = 64
"""Draws of documents do not depend on what is measured: simulations take turns with a few."""

Means = Mapping[str, float | np.ndarray]
"""By rate: one number, or one for each layer and head."""


@dataclass(frozen=True)
class Rate:
    """Something that documents vary in."""

    column: str
    neutral: float
    spread: float
    """Standard deviation between documents."""
    per: float = 1.0
    """What a rate of 1 adds to the column, for each window and head."""


RATES = {
    "separators": Rate("separator_attention", 0.05, 0.01),
    "special_separators": Rate("special_separator_attention", 0.05, 0.01),
    "distance": Rate("distance_sum", RANDOM_DISTANCE, 4.0, PAIRS),
    "same_sentence": Rate("same_sentence_pairs", 0.3, 0.04, PAIRS),
    "repetition": Rate("repetition_pairs", 0.05, 0.04, PAIRS),
    "common": Rate("common_pairs", 0.1, 0.05, PAIRS),
    "exclusiveness": Rate("focal_exclusiveness", 0.8, 0.05),
    "independent": Rate("focal_independent", 0.6, 0.05),
    "contrast": Rate("block_contrast", 0.0, 0.2),
    "repetition_alone": Rate("repetition_beyond_attention", 0.0, 0.02, PAIRS),
    "repetition_of_map": Rate("repetition_of_map", 0.0, 0.02, PAIRS),
    "repetition_of_rows": Rate("repetition_of_rows", -0.1, 0.02, PAIRS),
    "sentence_alone": Rate("sentence_beyond_attention", 0.0, 0.02, PAIRS),
    "sentence_of_map": Rate("sentence_of_map", 0.0, 0.02, PAIRS),
    "sentence_of_rows": Rate("sentence_of_rows", -0.1, 0.02, PAIRS),
}
CONSTANT = {
    **dict.fromkeys(("texts", "focal_texts", "block_contrast_texts"), 1.0),
    **dict.fromkeys(("pairs", "distinct_pairs", "map_pairs", "row_pairs"), float(PAIRS)),
    "map_shared": 0.2 * PAIRS,
    "row_shared": 0.3 * PAIRS,
    "distance_expected": RANDOM_DISTANCE * PAIRS,
    "same_sentence_expected": 0.3 * PAIRS,
    "repetition_expected": 0.05 * PAIRS,
    "common_expected": 0.1 * PAIRS,
}
"""Columns that are the same for every window and head."""


@dataclass(frozen=True)
class Study:
    """How many documents and seeds there are, and how much seeds vary."""

    documents: int = 40
    seeds: int = 10
    seed_spread: float = 1.0
    """Of one seed's level, in standard errors of its mean over the documents that it reads."""
    layers: tuple[int, ...] = tuple(range(1, LAYERS + 1))
    deepest: int = LAYERS
    resamples: int = RESAMPLES


USUAL = Study()


@dataclass(frozen=True)
class Truth:
    """What is true of the trained and of the untrained model. Rates not named do not vary."""

    trained: Means = field(default_factory=dict)
    untrained: Means = field(default_factory=dict)

    def but(self, **trained: float | np.ndarray) -> "Truth":
        """The same with other means of the trained model."""
        return replace(self, trained={**self.trained, **trained})


def simulate(number: int, truth: Truth, study: Study = USUAL) -> Evidence:
    """The evidence of one simulated study.

    Args:
        number: Of the simulation: the same number gives the same study.
        truth: The means.
        study: Its size.
    """
    varying = sorted({*truth.trained, *truth.untrained})
    rng = np.random.default_rng([number, *_different(truth, study)])
    corpus = _corpus(study, number % DIFFERENT_CORPORA)
    shared = {name: rng.normal(size=(study.documents, 1, 1)) for name in varying}
    layers = [(layer - 1) % LAYERS for layer in study.layers]

    def model(part: _Part, means: Means, seed_spread: float) -> ResampledRun:
        columns = dict(part.columns)
        size = (len(part.documents), len(layers), HEADS)
        for name in varying:
            rate = RATES[name]
            mean = np.broadcast_to(means.get(name, rate.neutral), (LAYERS, HEADS))[layers]
            noise = 0.7 * (rng.normal(size=(*size[:2], 1)) + rng.normal(size=size))
            of_seed = 0.7 * seed_spread * (rng.normal() + rng.normal(size=(1, size[1], 1)))
            values = mean + rate.spread * (
                shared[name][part.documents] + noise + of_seed / np.sqrt(size[0])
            )
            columns[rate.column] = rate.per * part.windows * values
        return ResampledRun(columns, part.draws, study.layers, part.windows[:, 0, 0].astype(int))

    every, *shares = corpus
    return Evidence(
        stack="encoder",
        run=model(every, truth.trained, 0.0),
        untrained=tuple(model(share, truth.untrained, study.seed_spread) for share in shares),
        deepest=study.deepest,
        is_sample=True,
    )


def _different(truth: Truth, study: Study) -> list[int]:
    """Numbers that differ between truths and sizes: cells of a table are independent."""
    means = (sorted(truth.trained.items()), sorted(truth.untrained.items()))
    told = str([[(name, np.asarray(mean).tolist()) for name, mean in of] for of in means])
    return [study.documents, study.seeds, int(100 * study.seed_spread), crc32(told.encode())]


@dataclass(frozen=True)
class _Part:
    """The documents that one model reads, and what does not depend on the model."""

    documents: np.ndarray
    windows: np.ndarray
    """Of each document."""
    draws: Draws
    columns: dict[str, np.ndarray]


@cache
def _corpus(study: Study, number: int) -> list[_Part]:
    """What the trained model and the untrained ones read."""
    rng = np.random.default_rng([number, study.documents])
    draws = draw_documents(study.documents, number, study.resamples)
    windows = rng.integers(1, 4, size=(study.documents, 1, 1)).astype(np.float64)
    each = CONSTANT | {rate.column: rate.per * rate.neutral for rate in RATES.values()}

    def part(documents: np.ndarray) -> _Part:
        of_documents = windows[documents] * np.ones((1, len(study.layers), HEADS))
        columns = {name: value * of_documents for name, value in each.items()}
        return _Part(documents, windows[documents], draws.of(documents), columns)

    every = np.arange(study.documents)
    shares = [share_of_seed(every, SHARE, seed) for seed in range(study.seeds)]
    return [part(documents) for documents in (every, *shares)]


def by_third(first: float, middle: float, final: float) -> np.ndarray:
    """A mean for the first, middle and final two layers."""
    return np.repeat([first, middle, final], 2)[:, None] * np.ones((1, HEADS))


def one_head(mean: float, others: float) -> np.ndarray:
    """A mean for head 2 of layer 3, and one for all other heads."""
    means = np.full((LAYERS, HEADS), others)
    means[2, 1] = mean
    return means
