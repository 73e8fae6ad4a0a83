"""Memory: what nobody uses any more is kept for the next batch and given back after a shard.

The C library and Arrow keep what is freed, in pieces between whatever is still in use; from shard
to shard, there are more pieces. `Buffers` are large arrays that batches use one after the other.
"""

import ctypes
import math
import mmap
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor


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


class Buffers:
    """Memory by name. For one thread, and one batch at a time."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def numbers(self, name: str, count: int, kind: torch.dtype) -> Float[Tensor, " number"]:
        """So many numbers, whatever was left in them; more memory is taken only for more numbers.

        Whoever asks for the same name next gets the same memory.
        """
        needed = count * kind.itemsize
        if name not in self._held or len(self._held[name]) < needed:
            # Let go first: both at once might be too much.
            self._held.pop(name, None)
            doubles = -(-needed // torch.float64.itemsize)
            self._held[name] = torch.from_numpy(array_apart((doubles,))).view(torch.uint8)
        return self._held[name][:needed].view(kind)
