"""Workers that take shards, whatever they run on: what the hand-out of shards sees of them."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from headscope.scale.shard_worker import ShardDone


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


News = ShardDone | WorkerReady | WorkerLost


@runtime_checkable
class Crew(Protocol):
    """Some workers, each of which measures one shard at a time and writes it itself.

    Crews are context managers: leaving one ends all its workers at once, whatever they are doing.
    A shard that is half done is nowhere, and is done again by whoever goes on with the run.
    """

    @property
    def free(self) -> int:
        """How many workers wait for a shard."""

    def give(self, number: int) -> None:
        """Give a shard to a worker that waits."""

    def next_news(self) -> News:
        """What happens next, waited for. Errors that users can mend are raised."""
