"""Memory that nobody uses any more, given back to the system.

The C library keeps what is freed, in pieces between whatever is still in use; from shard to shard,
the pieces become more.
"""

import ctypes
import math
import mmap
import sys

import numpy as np
from numpy.typing import NDArray


def array_apart(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Zeros in memory of their own, which the system has back as soon as the array is gone.

    For large arrays that are made in every shard.
    """
    numbers = math.prod(shape)
    memory = mmap.mmap(-1, max(1, numbers) * np.dtype(np.float64).itemsize)
    return np.frombuffer(memory, np.float64, numbers).reshape(shape)


def give_back_free_memory() -> None:
    """Give back what the C library holds for later; elsewhere than with glibc, do nothing.

    Threads that measured leave much behind, and what comes next would be added on top of that.
    """
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):
            return
