"""Arrays filled, copied and added, in loops (compiled).

What NumPy writes as `a[:] = b`, numba compiles for seconds, with a check of shapes each.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.compiled.decorators import inner, inner_in_any_order


@inner
def fill(target: NDArray[Any], value: float) -> None:
    """Set all numbers of one axis to a value."""
    for k in range(len(target)):
        target[k] = value


@inner
def copy(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Copy numbers to the front of `target`."""
    for k in range(len(source)):
        target[k] = source[k]


@inner
def add(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Add numbers to those at the front of `target`."""
    for k in range(len(source)):
        target[k] += source[k]


@inner_in_any_order
def total(values: NDArray[Any]) -> Any:
    """The sum of all numbers of one axis, in double precision."""
    summed = 0.0
    for k in range(len(values)):
        summed += np.float64(values[k])
    return summed
