"""A worker: the model, loaded once, and the run folder that it writes shards to."""

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from headscope.errors import SettingsError, WorkerError
from headscope.measuring.describe import describe_run
from headscope.measuring.shard import measure_shard
from headscope.measuring.workers.exchange import ShardExchange
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import differences


@dataclass(frozen=True, slots=True)
class WorkerRecipe:
    """All that a worker needs to know, as plain values that are sent as JSON."""

    run: str
    """The run folder, as the worker sees it."""
    model: str
    dtype: str
    device: str
    threads: int
    allow_pickle: bool = False
    trust_remote_code: bool = False
    projection: str | None = None
    via: str | None = None
    """The store through which shards are exchanged, for workers that do not see the run folder."""

    @classmethod
    def of(
        cls,
        run: Path,
        model: LoadedModel,
        *,
        threads: int,
        elsewhere: bool,
        loading: LoadOptions,
        via: str | None = None,
    ) -> "WorkerRecipe":
        """The recipe for the workers of a run.

        Args:
            run: The run folder.
            model: As it is loaded in this process.
            threads: Number of threads of each worker.
            elsewhere: Whether workers are on other machines.
            loading: How the model was loaded.
            via: The URL of a store, for workers that do not see the run folder.
        """
        if model.path is None:
            raise SettingsError(
                f"workers: {model.name} is a model object, which cannot be sent to workers; "
                "save it to a folder and pass the folder, or leave out workers and on"
            )
        if any(isinstance(gate, torch.Tensor) for row in model.open_gates for gate in row.values()):
            raise SettingsError(
                "workers: gates that replace what a head writes cannot be sent to workers; leave "
                "out workers and on"
            )
        # Another machine does not have this one's hub cache, but may find the model by its name.
        by_name = elsewhere and (model.revision is not None or model.name == "demo")
        return cls(
            run=str(run.resolve()),
            model=model.name if by_name else str(model.path),
            dtype=str(model.dtype).removeprefix("torch."),
            device=str(model.device),
            threads=threads,
            allow_pickle=loading.get("allow_pickle", False),
            trust_remote_code=loading.get("trust_remote_code", False),
            projection=model.projection,
            via=via,
        )


@dataclass(frozen=True, slots=True)
class ShardDone:
    """A worker has written a shard."""

    number: int
    seconds: float
    worker: str
    """Machine and process."""


class ShardWorker:
    """Measures shards one after the other, on the number of threads that its recipe says."""

    def __init__(self, recipe: WorkerRecipe) -> None:
        self._recipe = recipe
        self._use_threads()
        self._scratch: TemporaryDirectory[str] | None = None
        self._exchange = ShardExchange(recipe.via) if recipe.via else None
        folder = Path(recipe.run)
        if self._exchange:
            self._scratch = TemporaryDirectory(prefix="headscope-")
            folder = Path(self._scratch.name)
            self._exchange.fetch_manifest(folder)
        elif not folder.is_dir():
            raise WorkerError(
                f"{folder} is not on {socket.gethostname()}: workers must see the run folder; "
                "put the run folder on a file system that they share, or name a store (via)"
            )
        self._run = RunFolder.open(folder)
        self._model = load_model(
            recipe.model,
            dtype=recipe.dtype,
            device=recipe.device,
            allow_pickle=recipe.allow_pickle,
            trust_remote_code=recipe.trust_remote_code,
            projection=recipe.projection,
        )
        self._sites = self._model.sites_of(self._run.manifest.settings.layers)
        self._gates = {
            (gate.stack, gate.layer, gate.head): gate.factor
            for gate in self._run.manifest.gates
            if gate.factor is not None
        }
        self._refuse_another_model()

    @property
    def name(self) -> str:
        """Machine and process."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def measure(self, number: int) -> ShardDone:
        """Measure and write a shard.

        Args:
            number: Of the shard.
        """
        started = time.monotonic()
        self._use_threads()
        if self._exchange:
            self._exchange.fetch_windows(self._run.path, number)
        with self._model.gates(self._gates):
            measure_shard(self._run, self._model, self._sites, number)
        if self._exchange:
            self._exchange.put_shard(self._run.path, number)
        return ShardDone(number, time.monotonic() - started, self.name)

    def _use_threads(self) -> None:
        # torch keeps this number per thread, so it is set where the work is done.
        torch.set_num_threads(self._recipe.threads)

    def _refuse_another_model(self) -> None:
        """Refuse other weights or versions, which would put other numbers into the run."""
        manifest = self._run.manifest
        with self._model.gates(self._gates):
            here = describe_run(self._model, manifest.corpus, manifest.settings, self._sites)
        if different := differences(manifest, here, corpus=False):
            raise WorkerError(
                f"worker {self.name} differs from the run ({'; '.join(different)}); "
                "give all machines the same model and the same versions"
            )
