"""Where the shards of a run are measured, by how many workers, on how many threads each."""

from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from headscope.errors import SettingsError, option

Place = Literal["local", "ray"]
"""This machine, or a Ray cluster."""


def place(name: str) -> Place:
    """The place of that name; any other name is refused.

    Args:
        name: `local` or `ray`.
    """
    for known in get_args(Place):
        if name == known:
            chosen: Place = known
            return chosen
    raise SettingsError(f"on: {name!r} is unknown; choose {' or '.join(get_args(Place))}")


class WorkOptions(TypedDict, total=False):
    """The work plan as keywords of `analyze`."""

    on: Place
    workers: int | None
    threads: int | None
    address: str | None
    gpus_per_worker: float
    via: str | None


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """How the work is shared out. None of this changes a bit of the results.

    Batches are computed on one thread each, and added up in order. There is one exception: a shard
    of a single window that is longer than `batch_tokens` is computed on all threads, whose number
    then decides how the libraries beneath round.
    """

    on: Place = "local"
    workers: int | None = None
    """None: this process alone; with Ray, one worker per `threads` cores of the cluster."""
    threads: int | None = None
    """Threads per worker. None: the cores of this machine shared out evenly; on a cluster, one."""
    address: str | None = None
    """Address of a Ray cluster; None starts Ray on this machine for the duration of the run."""
    gpus_per_worker: float = 0.0
    """GPUs that Ray reserves for each worker; with fractions, workers share one."""
    via: str | None = None
    """An fsspec URL through which shards are exchanged, if workers do not see the run folder."""

    def __post_init__(self) -> None:
        if self.on not in get_args(Place):
            raise SettingsError(
                f"on: {self.on!r} is unknown; choose {' or '.join(get_args(Place))}"
            )
        for name in ("workers", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name}: {value} is too few; ask for at least 1")
        if self.gpus_per_worker < 0:
            raise SettingsError(f"gpus per worker: {self.gpus_per_worker} is negative")
        for name in ("address", "gpus_per_worker", "via"):
            if self.on != "ray" and getattr(self, name):
                raise SettingsError(
                    f"{option(name)}: only with Ray; add {option('on', 'ray')}, or leave it out"
                )

    @property
    def in_this_process(self) -> bool:
        """Whether no workers are needed."""
        return self.on == "local" and self.workers is None

    def workers_for(self, shards: int, cores: int) -> int:
        """Number of workers to start: no more than there are shards.

        Args:
            shards: Number of shards to measure.
            cores: Number of cores, here or of the cluster.
        """
        asked = self.workers or max(1, cores // (self.threads or 1))
        return max(1, min(asked, shards))

    def threads_for(self, shards: int) -> int:
        """Number of threads on which each shard of a run is measured.

        Args:
            shards: Number of shards of the run.
        """
        import torch

        cores = torch.get_num_threads()
        if self.threads is not None or self.in_this_process:
            return self.threads or cores
        if self.address is not None:
            return 1
        return max(1, cores // self.workers_for(shards, cores))
