"""Memory that nobody uses any more: kept for the next batch, given back after a shard.

The C library and Arrow keep what is freed, in pieces between whatever is still in use; from shard
to shard, the pieces become more.
"""

import ctypes
import math
import mmap
import platform
from collections.abc import Iterator
from contextlib import contextmanager

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


# Numbers of glibc's malloc.h, and the most that they come to by themselves.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MOST_FROM_HEAP, _MOST_FREE = 32 << 20, 64 << 20
_PLENTY = 1 << 30


@contextmanager
def keeping_freed_memory() -> Iterator[None]:
    """While open, glibc keeps what is freed until it is told to give it back.

    Every layer of a model needs tens of megabytes, and frees them. Left to itself, glibc has the
    system take and give them again and again, which took a twentieth of an analysis and more.
    """
    _tell_glibc(_MMAP_THRESHOLD, _MOST_FROM_HEAP)
    _tell_glibc(_TRIM_THRESHOLD, _PLENTY)
    try:
        yield
    finally:
        _tell_glibc(_TRIM_THRESHOLD, _MOST_FREE)


def _tell_glibc(what: int, value: int) -> None:
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(what, value)


def give_back_free_memory() -> None:
    """Give back what is held for later, by Arrow and by the C library, if that is glibc.

    Threads that measured leave much behind, and what comes next would be added on top of that.
    """
    pa.default_memory_pool().release_unused()
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
