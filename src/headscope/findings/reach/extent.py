"""How far an excess reaches: the largest distance, and those that hold half and most of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.findings.resampling.bootstrap import Interval, draw_documents, interval
from headscope.findings.resampling.swap_bands import Bands

LEAST_PAIRS = 10
"""Fewer pairs of documents answer nothing: 20 documents, as for every verdict."""
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Extent:
    """How far the excess of one curve reaches, in tokens."""

    largest: int | None
    """The first distance of the farthest bin whose band lies above zero; None if there is none."""
    half: Interval
    """Half of the excess over all distances lies within this distance."""
    most: Interval
    """Nine tenths of the excess lie within this distance."""


def largest_distances(bands: Bands, edges: Sequence[int]) -> list[int | None]:
    """The first distance of the farthest bin whose band lies above zero, for each curve.

    Args:
        bands: Of each curve.
        edges: Of the bins.
    """
    if bands.units < LEAST_PAIRS:
        return [None] * len(bands.mean)
    found = [np.flatnonzero(above) for above in bands.above]
    return [int(edges[bins[-1]]) if len(bins) else None for bins in found]


def extents(
    differences: Float64[np.ndarray, "unit curve bin"],
    bands: Bands,
    edges: Sequence[int],
    seed: int = 0,
) -> list[Extent]:
    """How far each curve reaches.

    Half and nine tenths are shares of the sum over all distances, each of which counts the same:
    what a token shares with the text around it, one token at every distance. A curve that is
    nowhere above zero has neither.

    Args:
        differences: Of each pair of documents.
        bands: Of the same.
        edges: Of the bins.
        seed: Of the resampling of pairs of documents.
    """
    units = len(differences)
    draws = draw_documents(units, seed, RESAMPLES)
    found = []
    for curve, largest in enumerate(largest_distances(bands, edges)):
        half = most = Interval(float("nan"), float("nan"), float("nan"))
        if largest is not None:
            means = resampled_means(differences[:, curve], draws.weights)
            holding = holding_distance(means, edges, np.array([0.5, 0.9]))
            half, most = (interval(float(one[0]), one[1:], units) for one in holding.T)
        found.append(Extent(largest, half, most))
    return found


def resampled_means(
    values: Float64[np.ndarray, "unit bin"], weights: NDArray[np.integer]
) -> Float64[np.ndarray, "sample bin"]:
    """The mean over the pairs that have a value: as they are (row 0), and in each resample.

    Args:
        values: Of each pair; NaN for none.
        weights: How often each pair is in each resample.
    """
    there = np.isfinite(values)
    every = np.concatenate([np.ones((1, len(values))), weights.astype(np.float64)])
    with np.errstate(divide="ignore", invalid="ignore"):
        means: NDArray[np.float64] = (every @ np.where(there, values, 0.0)) / (every @ there)
    return means


def holding_distance(
    means: Float64[np.ndarray, "sample bin"],
    edges: Sequence[int],
    shares: Float64[np.ndarray, " share"],
) -> Float64[np.ndarray, "sample share"]:
    """The distance within which a share of the excess lies; NaN where the whole is not positive.

    >>> holding_distance(np.array([[1.0, 0.5, 0.0]]), [1, 3, 7, 15], np.array([0.5, 0.75]))
    array([[2., 4.]])

    Args:
        means: Mean excess in each bin.
        edges: Of the bins.
        shares: Between 0 and 1.
    """
    bounds = np.asarray(edges, dtype=np.float64)
    cumulative = np.cumsum(np.nan_to_num(means) * np.diff(bounds), axis=1)
    total = cumulative[:, -1:]
    start = np.concatenate([np.zeros_like(total), cumulative[:, :-1]], axis=1)
    found = np.full((len(means), len(shares)), np.nan)
    for number, share in enumerate(shares):
        wanted = share * total
        reached = cumulative >= wanted
        first = np.where(total[:, 0] > 0, reached.argmax(1), 0)
        rows = np.arange(len(means))
        inside = (wanted[:, 0] - start[rows, first]) / (
            cumulative[rows, first] - start[rows, first] + 1e-300
        )
        width = bounds[first + 1] - bounds[first]
        place = bounds[first] - 1 + np.clip(inside, 0, 1) * width
        found[:, number] = np.where(total[:, 0] > 0, place, np.nan)
    return found
