"""Measuring the missing shards of a run, as the work plan says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from headscope.measuring.shard import measure_here, missing_shards, say_left_out, windows_done
from headscope.measuring.workers.dispatch import WorkerPool, dispatch
from headscope.measuring.workers.exchange import ShardExchange
from headscope.measuring.workers.plan import WorkPlan
from headscope.measuring.workers.processes import LocalProcesses
from headscope.measuring.workers.ray_actors import RayActors, connected
from headscope.measuring.workers.shard_worker import ShardDone, WorkerRecipe
from headscope.models.load import LoadOptions
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.folder import RunFolder
from headscope.system.progress import Progress
from headscope.system.threads import on_threads


def measure_shards(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    plan: WorkPlan,
    progress: Progress,
    loading: LoadOptions | None = None,
) -> None:
    """Have every shard of a run written.

    Args:
        run: Where windows are read from and shards are written to.
        model: What reads the windows in this process.
        sites: Which attention layers are measured.
        plan: Where they are measured, and by how many workers.
        progress: Is told of windows as they are done.
        loading: How the model was loaded, for workers that load it themselves.
    """
    missing = missing_shards(run, progress)
    exchange = ShardExchange(plan.via) if plan.via else None
    if exchange:
        missing = _fetch_waiting(run, exchange, missing)
    corpus = run.manifest.corpus
    progress.stage("windows", total=corpus.windows, done=windows_done(run, missing))
    if plan.in_this_process:
        with on_threads(plan.threads_for(run.manifest.shards)):
            measure_here(run, model, sites, missing, progress)
        return
    if not missing:
        return
    if exchange:
        exchange.put_run(run.path, missing)

    def on_done(done: ShardDone) -> None:
        if exchange:
            exchange.take_shard(run.path, done.number)
        windows = corpus.shard_texts[done.number]
        progress.advance(windows)
        progress.note(
            "shard", number=done.number, texts=windows, seconds=done.seconds, worker=done.worker
        )
        say_left_out(run.shards.left_out(done.number), progress)

    recipe = WorkerRecipe.of(
        run.path,
        model,
        threads=plan.threads_for(run.manifest.shards),
        elsewhere=plan.address is not None,
        loading=loading or {},
        via=plan.via,
    )
    with _worker_pool(plan, recipe, len(missing)) as pool:
        dispatch(pool, missing, on_done, progress)


@contextmanager
def _worker_pool(plan: WorkPlan, recipe: WorkerRecipe, shards: int) -> Iterator[WorkerPool]:
    cores = torch.get_num_threads()
    if plan.on == "local":
        with LocalProcesses(recipe, plan.workers_for(shards, cores)) as processes:
            yield processes
        return
    workers = plan.workers_for(shards, cores)
    with connected(plan.address, max(cores, workers * recipe.threads)) as ray:
        if plan.address is not None:
            cores = int(ray.cluster_resources().get("CPU", 1))
            workers = plan.workers_for(shards, cores)
        with RayActors(ray, recipe, workers, plan.gpus_per_worker) as actors:
            yield actors


def _fetch_waiting(run: RunFolder, exchange: ShardExchange, missing: list[int]) -> list[int]:
    """Take waiting shards out of the store; returns those that are still missing."""
    for number in filter(exchange.has_shard, missing):
        exchange.take_shard(run.path, number)
    return [number for number in missing if not run.shards.is_whole(number)]
