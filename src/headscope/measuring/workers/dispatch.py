"""Gives shards to the workers of a pool until all are written.

A worker has one shard at a time and gets the next when it is done, so nothing queues up, and the
results themselves never come here. A shard whose worker is lost is given to another one.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headscope.errors import WorkerError, option
from headscope.measuring.workers.shard_worker import ShardDone
from headscope.system.progress import Progress


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker has loaded the model and waits for a shard."""

    worker: str


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker is gone; the pool is starting another one in its place."""

    worker: str
    shard: int | None
    """What it was measuring; None if it was still loading the model."""
    reason: str


WorkerEvent = ShardDone | WorkerReady | WorkerLost
"""What a pool reports."""


@runtime_checkable
class WorkerPool(Protocol):
    """Some workers, each of which measures one shard at a time and writes it itself.

    Pools are context managers: leaving one ends all its workers at once. A half-measured shard
    leaves nothing on disk, and is measured again when the run is resumed.
    """

    @property
    def free(self) -> int:
        """Number of workers that wait for a shard."""

    def give(self, number: int) -> None:
        """Give a shard to a waiting worker.

        Args:
            number: Of the shard.
        """

    def next_event(self) -> WorkerEvent:
        """Wait for the next event. Errors that users can fix are raised."""


MAX_TRIES = 4
"""A shard that is lost with its worker this many times ends the run; so do this many workers in a
row that never start."""


def dispatch(
    pool: WorkerPool,
    numbers: Sequence[int],
    on_done: Callable[[ShardDone], None],
    progress: Progress,
) -> None:
    """Have all shards measured.

    Args:
        pool: The workers.
        numbers: Of the shards.
        on_done: Called for each shard once it is written.
        progress: Is told of workers that start or are lost.
    """
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
            case WorkerLost(shard=shard) as lost_worker:
                lost[shard] += 1
                if lost[shard] >= MAX_TRIES:
                    raise _too_many_losses(lost_worker)
                progress.say(_loss_message(lost_worker), kind="worker lost")
                if shard is not None:
                    under_way.discard(shard)
                    # It comes first, so that nothing waits for it at the end.
                    waiting.appendleft(shard)


def _loss_message(lost_worker: WorkerLost) -> str:
    doing = (
        "loading the model" if lost_worker.shard is None else f"measuring shard {lost_worker.shard}"
    )
    again = (
        "starting another one" if lost_worker.shard is None else "the shard will be measured again"
    )
    return f"worker {lost_worker.worker} was lost while {doing} ({lost_worker.reason}); {again}"


def _too_many_losses(lost_worker: WorkerLost) -> WorkerError:
    if lost_worker.shard is None:
        return WorkerError(
            f"no worker could start in {MAX_TRIES} tries (the last: {lost_worker.reason}); "
            "try the same command without workers to see what is wrong"
        )
    return WorkerError(
        f"shard {lost_worker.shard} was lost with its worker {MAX_TRIES} times (the last: "
        f"{lost_worker.reason}); if memory ran out, use fewer workers or a smaller "
        f"{option('batch_tokens')}, then run the same command again: what was finished is kept"
    )
