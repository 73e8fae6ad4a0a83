"""Whether an excess decays as a power of the distance or exponentially."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.findings.reach.extent import RESAMPLES, resampled_means
from headscope.findings.resampling.bootstrap import Interval, draw_documents, interval

DECISIVE = 2.0
"""A difference of AIC below this decides nothing."""
_STEPS = 240


@dataclass(frozen=True, slots=True)
class Decay:
    """Both fits of one curve."""

    better: str
    """`power law`, `exponential` or `undecided`."""
    aic_difference: float
    """AIC of the exponential minus that of the power law: positive where the power law is better.
    Both have two parameters, so it is also the difference of their chi-squares."""
    exponent: Interval
    """a of d to the power of -a."""
    length: Interval
    """x of exp(-d / x), in tokens."""
    misfit: float
    """Chi-square of the better one per degree of freedom; far above 1 where neither describes the
    curve."""


def fit_decay(
    differences: Float64[np.ndarray, "unit bin"],
    edges: Sequence[int],
    point: int,
    window: int,
    seed: int = 0,
) -> Decay | None:
    """Both fits to the mean excess by distance; None where fewer than four bins have an error.

    Weighted least squares over bins, each weighted by its variance over pairs of documents. Bins
    of one text are correlated, which AIC does not know: the intervals, which resample pairs, do.

    Args:
        differences: Of each pair of documents.
        edges: Of the bins.
        point: Where texts are spliced, which tells how many pairs each distance has.
        window: Length of the texts.
        seed: Of the resampling.
    """
    units = len(differences)
    error = np.nanstd(differences, axis=0, ddof=1) / np.sqrt(np.isfinite(differences).sum(0))
    used = np.isfinite(error) & (error > 0)
    if used.sum() < 4:
        return None
    weights = draw_documents(units, seed, RESAMPLES).weights
    means = np.nan_to_num(resampled_means(differences[:, used], weights))
    precision = 1 / error[used] ** 2
    exponents = np.linspace(0.0, 4.0, _STEPS + 1)[1:]
    lengths = np.geomspace(1.0, 20.0 * window, _STEPS)
    shares = _distance_shares(edges, point, window)[used]
    distances = np.arange(1, window)
    power = shares @ distances[:, None] ** -exponents
    exponential = shares @ np.exp(-distances[:, None] / lengths)
    least_power, at_power = _best(means, precision, power)
    least_exponential, at_exponential = _best(means, precision, exponential)
    difference = float(least_exponential[0] - least_power[0])
    better = "power law" if difference > 0 else "exponential"
    smaller = min(least_power[0], least_exponential[0])
    fitted = (exponents[at_power], lengths[at_exponential])
    exponent, length = (interval(float(one[0]), one[1:], units) for one in fitted)
    return Decay(
        better if abs(difference) >= DECISIVE else "undecided",
        difference,
        exponent,
        length,
        float(smaller / (used.sum() - 2)),
    )


def _distance_shares(
    edges: Sequence[int], point: int, window: int
) -> Float64[np.ndarray, "bin distance"]:
    """Which share of the pairs of a bin is at each distance."""
    distances = np.arange(1, window)
    pairs = np.minimum.reduce([distances, window - distances, np.full(window - 1, point)])
    pairs = np.minimum(pairs, window - point)
    low, high = (np.asarray(side)[:, None] for side in (edges[:-1], edges[1:]))
    inside = ((distances >= low) & (distances < high)) * pairs.astype(np.float64)
    total = inside.sum(1, keepdims=True)
    shares: NDArray[np.float64] = np.divide(
        inside, total, out=np.zeros_like(inside), where=total > 0
    )
    return shares


def _best(
    means: Float64[np.ndarray, "sample bin"],
    precision: Float64[np.ndarray, " bin"],
    shapes: Float64[np.ndarray, "bin step"],
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The least chi-square over shapes, each with its best amplitude from 0 on, and which it is."""
    along = np.maximum((means * precision) @ shapes, 0.0)
    gained = along**2 / (precision @ shapes**2)
    at = gained.argmax(1)
    least = (means**2 @ precision) - gained[np.arange(len(means)), at]
    return least, at
