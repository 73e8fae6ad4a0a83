"""Symmetric matrices on disk: the upper triangle alone, in single precision.

Summed similarity is most of a shard. A shard's own sum needs no more than single precision: shards
are added up in double precision.
"""

import numpy as np
from numpy.typing import NDArray


def packed_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of matrices on the last two axes when only their upper triangles are kept.

    Row after row, diagonal included, as one axis.
    """
    *others, n, _ = shape
    return (*others, n * (n + 1) // 2)


def unpack_triangle(packed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric matrices whose upper triangles were packed."""
    size = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(size)
    matrices = np.zeros((*packed.shape[:-1], size, size))
    matrices[..., rows, columns] = packed
    matrices[..., columns, rows] = packed
    return matrices


def mirrored(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrices of which only the upper triangle was filled, made symmetric."""
    upper = np.triu(matrices)
    return upper + np.triu(matrices, 1).swapaxes(-1, -2)
