"""The shards of a run that are not there yet, measured as the plan of work says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from headscope.measure_run import measure_here, missing_shards, say_left_out, texts_done
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.progress import Progress
from headscope.run import Run
from headscope.scale.crew import Crew
from headscope.scale.exchange import ShardExchange
from headscope.scale.hand_out import hand_out
from headscope.scale.plan import WorkPlan
from headscope.scale.processes import LocalProcesses
from headscope.scale.ray_actors import RayActors, connected
from headscope.scale.shard_worker import ShardDone, WorkerRecipe
from headscope.threads import on_threads


def measure_shards(
    run: Run,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    plan: WorkPlan,
    bars: Progress,
    *,
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
) -> None:
    """Have every shard of the run written; `bars` is told of texts as they are done."""
    missing = missing_shards(run, bars)
    exchange = ShardExchange(plan.via) if plan.via else None
    if exchange:
        missing = _fetch_what_waits(run, exchange, missing)
    corpus = run.manifest.corpus
    bars.stage("texts", total=corpus.windows, done=texts_done(run, missing))
    if plan.in_this_process:
        with on_threads(plan.threads_for(run.manifest.shards)):
            measure_here(run, model, sites, missing, bars)
        return
    if not missing:
        return
    if exchange:
        exchange.put_run(run.folder, missing)

    def on_done(done: ShardDone) -> None:
        if exchange:
            exchange.take_shard(run.folder, done.number)
        texts = corpus.shard_texts[done.number]
        bars.advance(texts)
        bars.note(
            "shard", number=done.number, texts=texts, seconds=done.seconds, worker=done.worker
        )
        say_left_out(run.shards.left_out(done.number), bars)

    recipe = WorkerRecipe.of(
        run.folder,
        model,
        threads=plan.threads_for(run.manifest.shards),
        elsewhere=plan.address is not None,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
        via=plan.via,
    )
    with _crew(plan, recipe, len(missing)) as crew:
        hand_out(crew, missing, on_done, bars)


@contextmanager
def _crew(plan: WorkPlan, recipe: WorkerRecipe, shards: int) -> Iterator[Crew]:
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


def _fetch_what_waits(run: Run, exchange: ShardExchange, missing: list[int]) -> list[int]:
    """The shards that are still missing after those in the store were taken out of it."""
    for number in filter(exchange.has_shard, missing):
        exchange.take_shard(run.folder, number)
    return [number for number in missing if not run.shards.is_whole(number)]
