"""Vectors of length 1."""

import numpy as np
from jaxtyping import Float64

_NONE = 1e-9
"""Shorter vectors are what rounding leaves of none."""


def unit_vectors(
    vectors: Float64[np.ndarray, "vector number"],
) -> Float64[np.ndarray, "vector number"]:
    """The vectors, each scaled to length 1; those of no length stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Float64[np.ndarray, "vector number"] = vectors / np.where(
        lengths > _NONE, lengths, np.inf
    )
    return scaled
