"""Workers as Ray actors, on this machine or on a cluster.

Ray keeps actors waiting until there is room for them: a machine that joins the cluster gets work,
and one that leaves costs no more than the shards it was measuring.
"""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from headscope.errors import HeadscopeError, SettingsError, WorkerError, in_one_line
from headscope.measuring.workers.dispatch import WorkerEvent, WorkerLost, WorkerReady
from headscope.measuring.workers.shard_worker import ShardDone, ShardWorker, WorkerRecipe

VERSION = version("headscope")

PATIENCE_S = 120.0
"""Maximum time until the first worker starts."""

_STORE_BYTES = 100 * 2**20
"""Memory for objects that Ray passes around: ours are a few numbers."""


@contextmanager
def connected(address: str | None, cores: int) -> Iterator[Any]:
    """Ray, connected to a cluster, or started on this machine while this is open.

    If the caller is already connected to Ray, that connection is used and left as it is.

    Args:
        address: Of a cluster; None for this machine.
        cores: Number of cores for Ray on this machine.
    """
    # Ray reads these when it is imported. The last one keeps a Ray that we start off the network:
    # anyone who reaches its ports can run any code.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is None:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise SettingsError('on: Ray is not installed; run: pip install "headscope[scale]"') from (
            error
        )
    if ray.is_initialized():
        yield ray
        return
    local: dict[str, Any] = (
        {"num_cpus": cores, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
        if address is None
        else {}
    )
    for may_try_again in (address is None, False):
        try:
            ray.init(
                address=address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **local,
            )
            break
        except Exception as error:  # of which class depends on how far it got
            ray.shutdown()
            # Ray gives itself 30 s to start, which is short on a busy machine.
            if may_try_again:
                continue
            what = f"cannot reach Ray at {address}" if address else "cannot start Ray here"
            raise WorkerError(f"{what}: {in_one_line(error)}; try ray status") from error
    try:
        yield ray
    finally:
        ray.shutdown()


class RayActors:
    """A pool of actors, which replaces those that die."""

    def __init__(
        self, ray: Any, recipe: WorkerRecipe, workers: int, gpus_per_worker: float = 0.0
    ) -> None:
        self._ray = ray
        self._recipe = recipe
        self._workers = workers
        self._actor_class = ray.remote(
            num_cpus=recipe.threads,
            num_gpus=gpus_per_worker,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )(_Actor)
        self._free: list[Any] = []
        self._busy: dict[Any, tuple[Any, int | None]] = {}
        """The actor and the shard of each pending call; None while the actor loads the model."""
        self._names: dict[Any, str] = {}
        self._context = ExitStack()

    def __enter__(self) -> "RayActors":
        # Ray reports lost workers on standard output, which is for results; we report them too.
        nowhere = self._context.enter_context(Path(os.devnull).open("w"))
        self._context.enter_context(redirect_stdout(nowhere))
        for _ in range(self._workers):
            self._start()
        return self

    def __exit__(self, *raised: object) -> None:
        for actor in [*self._free, *(actor for actor, _ in self._busy.values())]:
            self._ray.kill(actor)
        self._context.close()

    @property
    def free(self) -> int:
        """Number of actors that wait for a shard."""
        return len(self._free)

    def give(self, number: int) -> None:
        """Give a shard to the actor that has waited longest."""
        actor = self._free.pop(0)
        self._busy[actor.measure.remote(number)] = (actor, number)

    def next_event(self) -> WorkerEvent:
        """Wait for the next event in any of the actors."""
        patience = None if self._names else PATIENCE_S
        done, _ = self._ray.wait(list(self._busy), timeout=patience)
        if not done:
            raise WorkerError(
                f"no worker started within {PATIENCE_S:.0f} s; each asks Ray for "
                f"{self._recipe.threads} cores (and the GPUs asked for), and the cluster has "
                f"{self._ray.cluster_resources()}; ask for fewer threads, or add machines"
            )
        actor, shard = self._busy.pop(done[0])
        try:
            answer = self._ray.get(done[0])
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, HeadscopeError):
                raise error.cause from None
            return self._replace(actor, shard, in_one_line(error.cause))
        except self._ray.exceptions.RayError as error:
            return self._replace(actor, shard, _first_sentence(error))
        self._free.append(actor)
        if isinstance(answer, ShardDone):
            return answer
        self._names[actor] = answer
        return WorkerReady(answer)

    def _start(self) -> None:
        actor = self._actor_class.remote(asdict(self._recipe), VERSION)
        self._busy[actor.name.remote()] = (actor, None)

    def _replace(self, actor: Any, shard: int | None, reason: str) -> WorkerLost:
        # It may still be alive with a broken connection, and must not go on with the shard.
        self._ray.kill(actor)
        self._start()
        return WorkerLost(self._names.pop(actor, "actor"), shard, reason)


class _Actor:
    """A worker as Ray runs it."""

    def __init__(self, recipe: dict[str, Any], version: str) -> None:
        # Plain values: a worker of another version may know no recipe like this one.
        self._recipe = recipe
        self._version = version
        self._worker: ShardWorker | None = None

    def name(self) -> str:
        """Machine and process, once the model is loaded."""
        # Not in __init__: errors that are raised here reach us unchanged.
        if self._version != VERSION:
            raise WorkerError(
                f"worker {socket.gethostname()} has headscope {VERSION}, this run is made with "
                f"{self._version}; install the same version on all machines"
            )
        self._worker = ShardWorker(WorkerRecipe(**self._recipe))
        return self._worker.name

    def measure(self, number: int) -> ShardDone:
        """Measure and write a shard."""
        assert self._worker is not None
        return self._worker.measure(number)


def _first_sentence(error: Exception) -> str:
    return in_one_line(error).split(". ")[0].rstrip(".")
