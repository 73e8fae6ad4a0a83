"""Small maps of heads: their matrices, pooled into few cells."""

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

SIDE = 40
"""The most cells on a side."""


def pooled(
    matrices: Float[np.ndarray, "head token other"], *, diagonal: bool
) -> Float[np.ndarray, "head row column"]:
    """The mean of each block of cells, at most `SIDE` blocks on a side.

    Without `diagonal`, as in similarities, where it is zero, it does not count; a block that is
    nothing else is NaN.
    """
    _, rows, columns = matrices.shape
    row_starts, column_starts = _starts(rows), _starts(columns)
    row_sizes, column_sizes = np.diff([*row_starts, rows]), np.diff([*column_starts, columns])
    sums = np.add.reduceat(matrices, row_starts, axis=1, dtype=np.float64)
    sums = np.add.reduceat(sums, column_starts, axis=2)
    counts = np.outer(row_sizes, column_sizes)
    if not diagonal:
        counts = counts - np.diag(row_sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = np.where(counts > 0, sums / counts, np.nan)
    return means


def _starts(n: int) -> NDArray[np.int64]:
    """Where the blocks begin: as many as fit, as even as can be."""
    return np.linspace(0, n, min(n, SIDE), endpoint=False).astype(np.int64)
