"""Memory that nobody uses any more, given back to the system.

The C library and Arrow keep what is freed, in pieces between whatever is still in use; from shard
to shard, the pieces become more.
"""

import ctypes
import math
import mmap
import sys

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def array_apart(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Zeros in memory of their own, which the system has back as soon as the array is gone.

    For large arrays that are made in every shard.
    """
    numbers = math.prod(shape)
    memory = mmap.mmap(-1, max(1, numbers) * np.dtype(np.float64).itemsize)
    return np.frombuffer(memory, np.float64, numbers).reshape(shape)


def give_back_free_memory() -> None:
    """Give back what is held for later, by Arrow and by the C library, if that is glibc.

    Threads that measured leave much behind, and what comes next would be added on top of that.
    """
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):
            return
