"""Small maps of heads: matrices pooled into few cells, each head with a scale of its own."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, UInt8
from numpy.typing import NDArray

SIDE = 40
"""The most cells on a side."""
TAIL = 1.0
"""Per cent of the cells at each end of a scale that share its last colour."""


@dataclass(frozen=True, slots=True)
class Thumbnails:
    """The small maps of some heads, in 256 steps between their low and high ends."""

    steps: UInt8[np.ndarray, "head row column"]
    signed: Bool[np.ndarray, " head"]
    """Whether a head's scale has zero in its middle."""


def thumbnails(
    matrices: Float[np.ndarray, "head token other"], *, attention: bool
) -> Thumbnails:
    """The small maps of matrices; of similarities the diagonal, which says nothing, is left out."""
    pooled = _pooled(matrices, square=not attention)
    values = np.sqrt(pooled.clip(min=0)) if attention else pooled
    low = np.nanpercentile(values, TAIL, axis=(1, 2), keepdims=True)
    high = np.nanpercentile(values, 100 - TAIL, axis=(1, 2), keepdims=True)
    # Little below zero needs no colours of its own.
    signed = low < -0.1 * high
    reach = np.maximum(np.abs(low), np.abs(high))
    low, high = np.where(signed, -reach, low), np.where(signed, reach, high)
    scaled = (values - low) / np.where(high > low, high - low, 1)
    scaled = np.where(np.isnan(scaled), np.where(signed, 0.5, 0.0), scaled)
    return Thumbnails((255 * scaled.clip(0, 1)).round().astype(np.uint8), signed[:, 0, 0])


def _pooled(matrices: Float[np.ndarray, "head token other"], *, square: bool) -> NDArray[np.float64]:
    """The mean of each block of cells; NaN where a block is nothing but diagonal."""
    _, rows, columns = matrices.shape
    row_starts, column_starts = _starts(rows), _starts(columns)
    sums = np.add.reduceat(matrices.astype(np.float64), row_starts, axis=1)
    sums = np.add.reduceat(sums, column_starts, axis=2)
    counts = np.outer(np.diff([*row_starts, rows]), np.diff([*column_starts, columns]))
    if square:
        # The diagonal is zero in C: it adds nothing to the sums, and does not count.
        counts = counts - np.diag(np.diff([*row_starts, rows]))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def _starts(n: int) -> NDArray[np.int64]:
    """Where the blocks begin: as many as fit, as even as can be."""
    return np.unique(np.linspace(0, n, min(n, SIDE), endpoint=False).astype(np.int64))
