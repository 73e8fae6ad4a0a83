"""The range of numbers that a colour scale covers, in figures and on pages."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

TAIL = 1.0
"""Per cent of the cells at each end of a colour scale that share its last colour: otherwise one
outlier would leave all other cells in one colour."""


def value_range(values: NDArray[Any], tail: float = TAIL) -> tuple[float, float]:
    """The smallest and the largest finite value, without the tails; never the same number twice.

    >>> value_range(np.array([3.0, 3.0, np.nan])), value_range(np.array([np.nan]))
    ((3.0, 4.0), (0.0, 1.0))
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = map(float, np.percentile(finite, (tail, 100 - tail)))
    return (low, high) if high > low else (low, low + 1.0)
