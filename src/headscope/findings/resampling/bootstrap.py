"""The bootstrap over documents: how a number would vary over other samples of documents."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

RESAMPLES = 1000
"""Bootstrap samples per interval."""
LEVEL = 0.95
"""Coverage of the intervals."""
_CHUNK = 100
_MOST_KEPT = 4_000_000
"""Weights up to this number are kept as doubles."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the interval that covers the truth in 95 of 100 repetitions of the study."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def to_json(self) -> dict[str, float | None]:
        """Plain values; JSON has no NaN."""
        ends = {"value": self.value, "low": self.low, "high": self.high}
        return {name: float(end) if np.isfinite(end) else None for name, end in ends.items()}

    @property
    def percent(self) -> str:
        """The same in per cent: `+5.5% [+5.1%, +5.9%]`."""
        return f"{self.value:+z.1%} [{self.low:+z.1%}, {self.high:+z.1%}]"


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each document is in each bootstrap sample."""

    weights: Int[np.ndarray, "sample document"]
    numbers: Int[np.ndarray, " document"]
    """Of the documents, among all that were drawn from."""

    def sums(self, values: Float64[np.ndarray, "document cell"]) -> Float64[np.ndarray, "row cell"]:
        """The sum over documents, in the run itself (row 0) and in each bootstrap sample.

        Args:
            values: What each document adds to each cell.
        """
        in_run = values.sum(axis=0, keepdims=True)
        return np.concatenate([in_run, *(weights @ values for weights in self._chunks())])

    def _chunks(self) -> Iterator[Float64[np.ndarray, "some document"]]:
        if self.weights.size <= _MOST_KEPT:
            yield self._doubles
            return
        # The weights of a large run, as doubles, may be many times as large as the result.
        for start in range(0, len(self.weights), _CHUNK):
            yield self.weights[start : start + _CHUNK].astype(np.float64)

    @cached_property
    def _doubles(self) -> Float64[np.ndarray, "sample document"]:
        return self.weights.astype(np.float64)

    def first(self, samples: int) -> "Draws":
        """The first of the samples.

        Args:
            samples: Number of samples.
        """
        return Draws(self.weights[:samples], self.numbers)

    def of(self, documents: Int[np.ndarray, " some"]) -> "Draws":
        """The draws of some of the documents.

        A part of a run is drawn along with the whole: what both have in common cancels in their
        difference.

        Args:
            documents: Their places.
        """
        return Draws(self.weights[:, documents], self.numbers[documents])


def draw_documents(documents: int, seed: int, resamples: int = RESAMPLES) -> Draws:
    """Bootstrap samples of documents, drawn with replacement.

    Args:
        documents: Number of documents.
        seed: The same seed and number give the same samples.
        resamples: Number of samples.
    """
    rng = np.random.default_rng(seed)
    shares = np.full(documents, 1 / documents)
    drawn = rng.multinomial(documents, shares, size=resamples)
    return Draws(drawn.astype(np.int32), np.arange(documents))


def interval(
    value: float,
    samples: NDArray[np.float64],
    documents: int | float,
    *,
    questions: int = 1,
    groups: int = 1,
) -> Interval:
    """The interval of a value from its bootstrap samples; NaN where there are none.

    Percentiles, expanded for the number of documents: the bootstrap of n documents has a variance
    of (n - 1) / n of the true one, and uses the normal distribution where Student's is due. With 20
    documents plain percentiles cover 92 to 93 %. Source: Hesterberg 2015, "What teachers should
    know about the bootstrap", expanded percentile interval. Sample k of m in order stands for the
    share k / (m + 1): a new sample lies below it as often. The usual k / m puts the ends too far
    inside, by a tenth of the error rate with 400 samples.

    Args:
        value: In the run itself.
        samples: In each bootstrap sample.
        documents: Number of documents that were drawn from, the effective one where some count for
            more than others (`effective_number`).
        questions: Number of intervals that are looked at together, of which one may decide: each
            is widened so that all cover in 95 % (Bonferroni).
        groups: Number of parts of the documents that the value is a mean over: each has a mean of
            its own, and takes a degree of freedom.
    """
    usable = samples[np.isfinite(samples)]
    if not np.isfinite(value) or len(usable) < len(samples) / 2 or documents <= groups:
        return Interval(float(value), float("nan"), float("nan"))
    tail = _tail(documents, questions, groups)
    low, high = np.quantile(usable, [tail, 1 - tail], method="weibull")
    return Interval(float(value), float(low), float(high))


def effective_number(weights: Int[np.ndarray, " document"]) -> float:
    """As many documents of equal weight vary as much in their mean: (sum w)^2 / sum w^2.

    A document with many windows counts for more: the mean rests on fewer documents than there are.
    Source: Kish 1965, "Survey sampling".

    Args:
        weights: What each document counts for, such as its number of windows.
    """
    squares = float((weights.astype(np.float64) ** 2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def expansion(documents: int | float, *, questions: int = 1, groups: int = 1) -> float:
    """How many times as wide as plain percentiles an interval is, for its number of documents.

    NaN where there are no more documents than groups: a single document does not vary.

    Args:
        documents: Number of documents that were drawn from, or the effective one.
        questions: Number of intervals that are looked at together.
        groups: Number of parts of the documents that the value is a mean over.
    """
    free, inside = documents - groups, 1 - (1 - LEVEL) / 2 / questions
    if free <= 0:
        return float("nan")
    return float(stdtrit(free, inside) / ndtri(inside) * np.sqrt(documents / free))


def _tail(documents: int | float, questions: int, groups: int) -> float:
    """The share of samples beyond each end of an interval."""
    plain = ndtri((1 - LEVEL) / 2 / questions)
    return float(ndtr(plain * expansion(documents, questions=questions, groups=groups)))
