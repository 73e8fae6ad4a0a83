"""Split-half reliability: whether two halves of the windows tell heads apart in the same way."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.findings.resampling.weighted_sums import WeightedSums
from headscope.findings.stability.compare_groups import FEWEST_HEADS, findings, stack_slices

SPREAD = (0.05, 0.95)
"""The quantiles over random splits that `low` and `high` are."""


def split_half_reliability(halves: WeightedSums) -> pd.DataFrame:
    """A row per stack and measure: its reliability over heads, and the spread over splits.

    Choices 2k and 2k + 1 of `halves` are the halves of split k. The reliability is the correlation
    (Pearson) of the heads between the halves, scaled from half the windows to all of them by the
    Spearman-Brown formula: the median over splits, and the range that holds 90 % of the splits.
    NaN where a measure has no value, or the same one in every head.

    It misleads where heads differ mostly by layer: a measure that tells layers apart, but not the
    heads within a layer, is reliable, too.
    """
    rows = []
    values = findings(halves)
    for stack, places in stack_slices(halves.heads).items():
        for name, of_all in values.items():
            pairs = of_all[:, places].reshape(-1, 2, len(places))
            corrected = np.array([spearman_brown(_correlation(*pair)) for pair in pairs])
            defined = corrected[~np.isnan(corrected)]
            low, middle, high = (
                np.quantile(defined, [SPREAD[0], 0.5, SPREAD[1]]) if len(defined) else [np.nan] * 3
            )
            rows.append(
                {
                    "stack": stack,
                    "measure": name,
                    "reliability": middle,
                    "low": low,
                    "high": high,
                    "splits": len(defined),
                }
            )
    return pd.DataFrame(rows)


def spearman_brown(correlation: float) -> float:
    """The reliability of the whole from the correlation of its halves, odd in the correlation."""
    return 2 * correlation / (1 + abs(correlation))


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    both = ~(np.isnan(one) | np.isnan(other))
    one, other = one[both], other[both]
    if len(one) < FEWEST_HEADS or _constant(one) or _constant(other):
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _constant(values: NDArray[np.float64]) -> bool:
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())
