"""Every shard to a worker, until all are written.

A worker has one shard at a time and asks for no more before it is done: nothing piles up anywhere,
and the results themselves never come here. A shard whose worker is lost is dispatched again.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headscope.errors import WorkerError
from headscope.measuring.workers.shard_worker import ShardDone
from headscope.system.progress import Progress


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker has loaded the model and waits for a shard."""

    worker: str


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker is gone; another one is being started in its place."""

    worker: str
    shard: int | None
    """What it was measuring; None while it was still loading the model."""
    reason: str


WorkerEvent = ShardDone | WorkerReady | WorkerLost


@runtime_checkable
class WorkerPool(Protocol):
    """Some workers, each of which measures one shard at a time and writes it itself.

    Crews are context managers: leaving one ends all its workers at once, whatever they are doing.
    A shard that is half done is nowhere, and is done again by whoever goes on with the run.
    """

    @property
    def free(self) -> int:
        """How many workers wait for a shard."""

    def give(self, number: int) -> None:
        """Give a shard to a worker that waits."""

    def next_event(self) -> WorkerEvent:
        """What happens next, waited for. Errors that users can mend are raised."""


MOST_TRIES = 4
"""A shard that takes so many workers down with it ends the run; so do as many workers in a row
that never begin."""


def dispatch(
    pool: WorkerPool,
    numbers: Sequence[int],
    on_done: Callable[[ShardDone], None],
    progress: Progress,
) -> None:
    """Have all shards measured. `on_done` hears of each once it is written."""
    waiting = deque(numbers)
    under_way: set[int] = set()
    lost: Counter[int | None] = Counter()
    while waiting or under_way:
        while waiting and pool.free:
            under_way.add(waiting[0])
            pool.give(waiting.popleft())
        match pool.next_event():
            case ShardDone() as done:
                under_way.discard(done.number)
                on_done(done)
            case WorkerReady(worker):
                lost[None] = 0
                progress.note("worker ready", worker=worker)
            case WorkerLost(shard=shard) as news:
                lost[shard] += 1
                if lost[shard] >= MOST_TRIES:
                    raise _given_up(news)
                progress.say(_in_words(news), kind="worker lost")
                if shard is not None:
                    under_way.discard(shard)
                    # At once, so that nobody waits for it at the end.
                    waiting.appendleft(shard)


def _in_words(news: WorkerLost) -> str:
    doing = "loading the model" if news.shard is None else f"measuring shard {news.shard}"
    again = "another one begins" if news.shard is None else "the shard is done again"
    return f"worker {news.worker} was lost while {doing} ({news.reason}); {again}"


def _given_up(news: WorkerLost) -> WorkerError:
    if news.shard is None:
        return WorkerError(
            f"no worker could begin in {MOST_TRIES} tries (the last: {news.reason}); "
            "try the same command without workers to see what is wrong"
        )
    return WorkerError(
        f"shard {news.shard} was lost with its worker {MOST_TRIES} times (the last: "
        f"{news.reason}); if memory ran out, use fewer workers or a smaller --batch-tokens, then "
        "run the same command again: what was finished is kept"
    )
