"""Simultaneous bands from swapping what is compared, pair of documents by pair.

Two documents A and B give two intact texts and two spliced ones. If the second half of a document
has nothing to do with its first, the intact ones may as well be called spliced and the spliced ones
intact: the difference of a pair changes its sign, and nothing else. So under that hypothesis every
pattern of signs is as likely as the one that was seen. The largest |t| over all bins, over all
patterns, tells how wide a band must be to exclude zero anywhere in at most 5 % of such studies:
exactly, however few the pairs. Source: Westfall and Young 1993 (max-T); Romano and Wolf 2005.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

LEVEL = 0.95
"""Coverage of a band, over all of its bins."""
_PATTERNS = 2000
"""Random patterns of signs, where there are too many for all."""
_ALL_UP_TO = 12
"""Up to this number of pairs, all patterns are used."""
_CURVES_AT_ONCE = 32


@dataclass(frozen=True, eq=False, slots=True)
class Bands:
    """Mean differences with bands that hold over all bins of a curve at once."""

    mean: Float64[np.ndarray, "curve bin"]
    low: Float64[np.ndarray, "curve bin"]
    high: Float64[np.ndarray, "curve bin"]
    p_values: Float64[np.ndarray, " curve"]
    """How often patterns of signs give a bin that is as far from zero as the farthest bin."""
    units: int
    """Number of pairs of documents."""

    @property
    def above(self) -> NDArray[np.bool_]:
        """Where the band lies above zero, by curve and bin."""
        return np.asarray(self.low > 0)


def swap_bands(differences: Float64[np.ndarray, "unit curve bin"], seed: int = 0) -> Bands:
    """Bands of the mean difference over pairs of documents.

    A bin that fewer than half of the pairs have (NaN elsewhere) has no band.

    Args:
        differences: Of each pair of documents, for each curve and bin.
        seed: Of the patterns of signs.
    """
    units, curves, _ = differences.shape
    signs = _patterns(units, seed)
    parts = [
        _bands(differences[:, start : start + _CURVES_AT_ONCE], signs)
        for start in range(0, curves, _CURVES_AT_ONCE)
    ]
    mean, low, high, p_values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Bands(mean, low, high, p_values, units)


def _patterns(units: int, seed: int) -> NDArray[np.float64]:
    """Patterns of signs, the one that was seen first. A pattern and its opposite give equal |t|."""
    if units <= _ALL_UP_TO:
        numbers = np.arange(2 ** max(units - 1, 0))[:, None]
        bits = (numbers >> np.arange(units)) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (_PATTERNS, units))
        bits[0] = 0
    return np.where(bits == 1, -1.0, 1.0)


def _bands(
    differences: Float64[np.ndarray, "unit some bin"], signs: Float64[np.ndarray, "pattern unit"]
) -> tuple[NDArray[np.float64], ...]:
    there = np.isfinite(differences)
    number = there.sum(0)
    usable = (number >= 2) & (2 * number >= len(differences))
    values = np.where(there & usable, differences, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.tensordot(signs, values, axes=1) / number
        spread = (np.square(values).sum(0) / number - np.square(means)) / (number - 1)
        errors = np.sqrt(np.maximum(spread, 0))
        sizes = np.where(means == 0, 0.0, np.abs(means) / errors)
    sizes = np.where(usable, sizes, 0.0)
    largest = sizes.max(axis=2)
    # The band's half width, in standard errors: at most 5 % of the patterns go beyond it.
    rank = int(np.ceil(LEVEL * len(signs))) - 1
    critical = np.sort(largest, axis=0)[rank][:, None]
    seen = np.where(usable, means[0], np.nan)
    half = np.where(critical < np.inf, critical, np.nan) * errors[0]
    p_values = (largest >= largest[0] * (1 - 1e-12)).mean(0)
    p_values = np.where(usable.any(1), p_values, np.nan)
    return seen, seen - half, seen + half, p_values
