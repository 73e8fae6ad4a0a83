"""The bootstrap over documents: how a measure would vary over other samples of documents."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int
from numpy.typing import NDArray

RESAMPLES = 1000
"""Bootstrap samples per interval."""
LEVEL = 0.95
"""Coverage of the intervals."""
_CHUNK = 100


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the interval that covers the truth in 95 of 100 repetitions of the study."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def document_weights(
    document: Int[np.ndarray, " window"], seed: int, resamples: int = RESAMPLES
) -> Iterator[Float64[np.ndarray, "sample window"]]:
    """How often each window is in each bootstrap sample, in chunks of samples.

    Documents are drawn with replacement, each with all of its windows. If there is only one
    document, its windows are drawn instead.
    """
    numbers, cluster = np.unique(document, return_inverse=True)
    if len(numbers) == 1:
        cluster = np.arange(len(document))
    clusters = int(cluster.max()) + 1
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, _CHUNK):
        size = min(_CHUNK, resamples - start)
        drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=size)
        yield drawn[:, cluster].astype(np.float64)


def resampled_sums(
    values: Float64[np.ndarray, "window cell"],
    document: Int[np.ndarray, " window"],
    seed: int,
    resamples: int = RESAMPLES,
) -> Float64[np.ndarray, "sample cell"]:
    """The column sums of every bootstrap sample.

    The same seed and documents give the same samples, so that the ratio of two columns' sums is
    the ratio within each sample.
    """
    return np.concatenate(
        [weights @ values for weights in document_weights(document, seed, resamples)]
    )


def interval(value: float, samples: NDArray[np.float64]) -> Interval:
    """The percentile interval of a value from its bootstrap samples; NaN where there are none."""
    usable = samples[np.isfinite(samples)]
    if not np.isfinite(value) or len(usable) < len(samples) / 2:
        return Interval(float(value), float("nan"), float("nan"))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(usable, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high))
