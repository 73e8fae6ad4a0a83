"""Independent work shared out among threads, each computing on one core.

On two cores, two forward passes at once with one thread each take 10 % less time than one after the
other with two threads: no thread waits for another inside a layer.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")
Turn = Callable[[], None]
"""Waits until all earlier items are done."""


_threads: ThreadPoolExecutor | None = None
"""Kept from call to call: what a thread needs, such as its own memory, is set up only once. There
are as many as were ever at work at once."""

_MOST_THREADS = 1024


def in_threads(
    work: Callable[[Iterable[Item]], Result], shares: Sequence[Sequence[Item]]
) -> list[Result]:
    """The results of `work` for each share of the items, in order.

    The first share is done in the calling thread. An error in any thread is raised here; then, and
    when this thread is interrupted, the others get no further items.

    Args:
        work: Takes an iterable of items.
        shares: The items of each thread.
    """
    if len(shares) == 1:
        return [work(shares[0])]
    stop = threading.Event()
    inference = torch.is_inference_mode_enabled()

    def until_stopped(share: Sequence[Item]) -> Iterator[Item]:
        for item in share:
            if stop.is_set():
                raise _Stopped
            yield item

    def on_one_core(share: Sequence[Item]) -> Result:
        try:
            # torch keeps the number of threads, and the mode, per thread.
            with on_threads(1), torch.inference_mode(inference):
                return work(until_stopped(share))
        except BaseException:
            stop.set()
            raise

    # Gates that are open here are open there, too.
    others = [
        _kept_threads().submit(copy_context().run, on_one_core, share) for share in shares[1:]
    ]
    try:
        first = on_one_core(shares[0])
    except _Stopped:
        pass  # what stopped it is raised below
    finally:
        wait(others)
    failures = [failure for other in others if (failure := other.exception())]
    for failure in failures:
        if not isinstance(failure, _Stopped):
            raise failure
    return [first, *(other.result() for other in others)]


def in_order(
    worker: Callable[[], Callable[[Item, Turn], None]], items: Sequence[Item], threads: int
) -> None:
    """Do all items, on one core each; what they do after their turn is done in their order.

    So sums are the same bit for bit, whatever the number of threads. Every thread takes each n-th
    item: neighbours take equally long, and hardly wait for each other.

    Args:
        worker: Called once by each thread; returns what does an item. That is given the item and
            its turn, a function that waits until all earlier items are done.
        items: In order.
        threads: Number of threads.
    """
    turns = _Turns()
    numbered = list(enumerate(items))
    shares = [numbered[first::threads] for first in range(max(1, min(threads, len(items))))]

    def work(share: Iterable[tuple[int, Item]]) -> None:
        do = worker()
        try:
            for number, item in share:
                do(item, partial(turns.wait, number))
                turns.finish(number)
        except BaseException:
            turns.stop()
            raise

    with on_threads(1):
        in_threads(work, shares)


class _Turns:
    """The items that are done, counted in order."""

    def __init__(self) -> None:
        self._finished = 0
        self._stopped = False
        self._changed = threading.Condition()

    def wait(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._finished == number)
            if self._stopped:
                raise _Stopped

    def finish(self, number: int) -> None:
        self.wait(number)
        with self._changed:
            self._finished += 1
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()


def _kept_threads() -> ThreadPoolExecutor:
    global _threads
    if _threads is None:
        _threads = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="headscope")
    return _threads


def _forget_threads() -> None:
    """A forked process has none of its parent's threads."""
    global _threads
    _threads = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@contextmanager
def on_threads(threads: int) -> Iterator[None]:
    """While open, torch computes what this thread asks for on `threads` threads.

    Args:
        threads: Number of threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class _Stopped(Exception):
    """Raised in a thread whose work is no longer wanted."""
