"""Numbers for pages, packed as text: bytes in base64, and small maps of heads in 255 steps."""

import base64
import zlib
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

STEPS = 254
"""The highest step of a map; the one above it stands for cells without a number."""
TAIL = 1.0
"""Per cent of the cells at each end of a scale that share its last colour: one outlier would
otherwise leave all else in one colour."""


def packed_bytes(values: NDArray[Any]) -> str:
    """The bytes of an array, by zlib and base64. Little-endian, as every browser's machine is."""
    ordered = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(ordered.tobytes(), 4)).decode()


def plain_floats(values: Float[np.ndarray, "..."]) -> str:
    """32-bit floats in base64. Packing would save little: their last digits are noise."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def packed_maps(
    matrices: Float[np.ndarray, "head row column"], *, symmetric: bool = False
) -> dict[str, Any]:
    """Matrices as JSON values, in steps between a low and a high end of each one's own.

    Of symmetric ones the upper triangle is kept, diagonal included, row by row.
    """
    low, high = (
        np.array([_percentile(matrix, per_cent) for matrix in matrices])
        for per_cent in (TAIL, 100 - TAIL)
    )
    high = np.where(high > low, high, low + 1)
    scaled = (matrices - low[:, None, None]) / (high - low)[:, None, None]
    steps = np.where(np.isnan(scaled), STEPS + 1, np.rint(STEPS * scaled.clip(0, 1)))
    kept = steps.astype(np.uint8)
    if symmetric:
        rows, columns = np.triu_indices(matrices.shape[1])
        kept = kept[:, rows, columns]
    return {
        "rows": matrices.shape[1],
        "columns": matrices.shape[2],
        "symmetric": symmetric,
        "low": [float(f"{value:.4g}") for value in low],
        "high": [float(f"{value:.4g}") for value in high],
        "bytes": packed_bytes(kept),
    }


def _percentile(matrix: Float[np.ndarray, "row column"], per_cent: float) -> float:
    finite = matrix[np.isfinite(matrix)]
    return float(np.percentile(finite, per_cent)) if finite.size else 0.0
