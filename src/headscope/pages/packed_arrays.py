"""Arrays for pages, packed as text: bytes in base64, and small maps of heads in 255 steps."""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from headscope.pages.value_range import value_range

STEPS = 254
"""The highest step of a map; the next one stands for cells without a number."""


def packed_bytes(values: NDArray[Any]) -> str:
    """The bytes of an array, by zlib and base64; little-endian, as browsers read them."""
    ordered = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(ordered.tobytes(), 6)).decode()


def plain_floats(values: Float[np.ndarray, "..."]) -> str:
    """32-bit floats in base64. Compression would save little: their last digits are noise."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def packed_maps(
    matrices: Float[np.ndarray, "head row column"],
    *,
    symmetric: bool = False,
    ranges: Sequence[tuple[float, float]] | None = None,
) -> dict[str, Any]:
    """Matrices as JSON values: each in steps between its own low and high end.

    Of symmetric matrices only the upper triangle is kept, diagonal included, row by row.

    Args:
        matrices: One for each head.
        symmetric: Whether they are.
        ranges: The ends of each; by default those that its own numbers have.
    """
    if ranges is None:
        ranges = [value_range(matrix) for matrix in matrices]
    low, high = np.array(ranges).reshape(-1, 2).T
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
