"""Distances of pairs as shares: of a head's pairs, and of all pairs there are."""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.pages.figures.layout import NothingToDraw


def pair_shares(counts: xr.DataArray) -> NDArray[np.float64]:
    """The share of the pairs at each distance from 1 on; NaN where there are no pairs."""
    values = np.asarray(counts.isel(distance=slice(1, None)), dtype=np.float64)
    total = values.sum(-1, keepdims=True)
    return values / np.where(total > 0, total, np.nan)


def baseline_shares(results: xr.Dataset) -> NDArray[np.float64]:
    """The same for all pairs of the windows: what random pairs would give."""
    shares = pair_shares(results["distance_baseline"])
    if np.isnan(shares).all():
        raise NothingToDraw("no window has two tokens that may form a pair")
    return shares


def octave_bins(longest: int, parts: int = 1) -> NDArray[np.int64]:
    """The last distance of each bin, `parts` bins per octave: 1, 2, 4, 8, ... and the longest.

    Bins without a whole distance are left out, so that short distances have bins of their own.
    """
    ends = np.floor(2 ** np.arange(0, np.log2(longest) + 1 / parts, 1 / parts) + 1e-9)
    return np.unique(np.minimum(ends, longest).astype(np.int64))


def in_bins(shares: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of the shares in each bin."""
    starts = np.concatenate([[0], ends[:-1]])
    return np.asarray(np.add.reduceat(shares, starts, axis=-1))
