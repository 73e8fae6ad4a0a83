"""Where the time of a run goes, stage by stage; recorded only while `stage_times` is open.

The time of a stage inside another counts only for the inner one, so that stages add up. Threads add
up too: two threads that measure for one second have measured for two.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class StageTimes:
    """Seconds by stage, in the order in which stages first ended."""

    seconds: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        total = sum(self.seconds.values())
        width = max((len(stage) for stage in self.seconds), default=0)
        return "\n".join(
            f"{stage:{width}}  {seconds:9.2f} s  {100 * seconds / total:5.1f} %"
            for stage, seconds in sorted(self.seconds.items(), key=lambda item: -item[1])
        )


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.inside: list[float] = []
        """Seconds spent in inner stages, for each open stage; the innermost last."""


_of_thread = _OfThread()
_lock = threading.Lock()
_collectors: list[StageTimes] = []


@contextmanager
def stage_times() -> Iterator[StageTimes]:
    """The times of all stages in all threads of this process, while open."""
    times = StageTimes()
    with _lock:
        _collectors.append(times)
    try:
        yield times
    finally:
        with _lock:
            _collectors.remove(times)


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """While open, this thread's time counts for a stage.

    Args:
        stage: Its name.
    """
    if not _collectors:
        yield
        return
    started = time.perf_counter()
    _of_thread.inside.append(0.0)
    try:
        yield
    finally:
        taken = time.perf_counter() - started
        own = taken - _of_thread.inside.pop()
        if _of_thread.inside:
            _of_thread.inside[-1] += taken
        with _lock:
            for times in _collectors:
                times.seconds[stage] = times.seconds.get(stage, 0.0) + own
