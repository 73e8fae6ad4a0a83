"""Whether an error means that memory ran out: every library has its own way of saying so."""

import torch

_WORDS = ("can't allocate memory", "not enough memory", "bad_alloc", "out of memory")
"""torch on CPUs (Linux, Windows), C++ beneath any library, other devices."""


def is_out_of_memory(error: BaseException) -> bool:
    """True for errors after which the same work in smaller pieces may succeed."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _WORDS)
