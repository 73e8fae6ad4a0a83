"""One thread for tiny work."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """While open, torch computes on one thread.

    On a dozen tokens threads mostly wait for each other; on a busy machine that made the self-check
    fifty times slower.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
