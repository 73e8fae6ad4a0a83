"""Memory: reused from batch to batch, and given back to the system after each shard.

The C library and Arrow keep freed memory in fragments between what is still in use, and there would
be more fragments after every shard. `Buffers` are large arrays that batches reuse.
"""

import math
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.system.unix import tell_malloc, trim_malloc


def array_apart(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Zeros in memory of their own, which goes back to the system as soon as the array is gone.

    For large arrays that are made in every shard.

    Args:
        shape: Of the array.
    """
    numbers = math.prod(shape)
    memory = mmap.mmap(-1, max(1, numbers) * np.dtype(np.float64).itemsize)
    return np.frombuffer(memory, np.float64, numbers).reshape(shape)


# Options of glibc's malloc.h, and the largest values that glibc itself gives them.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MOST_FROM_HEAP, _MOST_FREE = 32 << 20, 64 << 20
_PLENTY = 1 << 30


@contextmanager
def keeping_freed_memory() -> Iterator[None]:
    """While open, glibc keeps freed memory until it is told to give it back.

    Every layer of a model needs tens of megabytes, and frees them. By default glibc returns them to
    the system and asks for them again each time, which took 5 % of an analysis and more.
    """
    tell_malloc(_MMAP_THRESHOLD, _MOST_FROM_HEAP)
    tell_malloc(_TRIM_THRESHOLD, _PLENTY)
    try:
        yield
    finally:
        tell_malloc(_TRIM_THRESHOLD, _MOST_FREE)


def give_back_free_memory() -> None:
    """Give memory that Arrow and glibc hold in reserve back to the system.

    Threads that measured leave much of it, and the next step would need its own on top of that.
    """
    pa.default_memory_pool().release_unused()
    trim_malloc()


def available_bytes() -> int | None:
    """How much memory can be had without swapping; None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(available.split()[1]) * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        return None


class Buffers:
    """Reusable memory by name, for one thread and one batch at a time."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def numbers(self, name: str, count: int, dtype: torch.dtype) -> Float[Tensor, " number"]:
        """An array of `count` numbers, not set to anything.

        The next call with the same name gets the same memory, and more only if it needs more.

        Args:
            name: What the memory is for.
            count: Number of numbers.
            dtype: Of the numbers.
        """
        needed = count * dtype.itemsize
        if name not in self._held or len(self._held[name]) < needed:
            # Freed first: both at once might be too much.
            self._held.pop(name, None)
            doubles = -(-needed // torch.float64.itemsize)
            self._held[name] = torch.from_numpy(array_apart((doubles,))).view(torch.uint8)
        return self._held[name][:needed].view(dtype)
