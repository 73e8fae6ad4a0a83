"""Where the shards of a run are measured, by how many workers, on how many threads each."""

from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

import torch

from headscope.errors import SettingsError

Place = Literal["local", "ray"]
"""This machine, or whatever Ray is connected to."""


def place(name: str) -> Place:
    """The place of that name; any other name is refused."""
    for known in get_args(Place):
        if name == known:
            chosen: Place = known
            return chosen
    raise SettingsError(f"on: {name!r} is unknown; choose {' or '.join(get_args(Place))}")


class WorkOptions(TypedDict, total=False):
    """The plan of work as keywords of `analyze`."""

    on: Place
    workers: int | None
    threads: int | None
    address: str | None
    gpus_per_worker: float
    via: str | None


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """How the work is shared out. None of this changes a number by more than 1e-5.

    The bits of a shard depend on the threads that measured it, since they decide the order of
    additions; workers with equal thread counts give equal bits.
    """

    on: Place = "local"
    workers: int | None = None
    """None: this process alone; with Ray, a worker for every `threads` cores of the cluster."""
    threads: int | None = None
    """Of a worker. None: the cores of this machine shared out evenly; on a cluster, one."""
    address: str | None = None
    """Of a Ray cluster; None starts Ray on this machine, for as long as the run takes."""
    gpus_per_worker: float = 0.0
    """What Ray sets aside for a worker; fractions share a GPU."""
    via: str | None = None
    """A URL of fsspec through which shards travel, where workers do not see the run folder."""

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
                option = name.replace("_", "-")
                raise SettingsError(f"{option}: only with Ray; add --on ray, or leave it out")

    @property
    def in_this_process(self) -> bool:
        """Whether no workers are needed."""
        return self.on == "local" and self.workers is None

    def workers_for(self, shards: int, cores: int) -> int:
        """How many workers to start: no more than there are shards."""
        asked = self.workers or max(1, cores // (self.threads or 1))
        return max(1, min(asked, shards))

    def threads_for(self, shards: int) -> int:
        """The threads on which each shard of a run of so many shards is measured."""
        cores = torch.get_num_threads()
        if self.threads is not None or self.in_this_process:
            return self.threads or cores
        if self.address is not None:
            return 1
        return max(1, cores // self.workers_for(shards, cores))
