"""One shard of work: windows go through the model, numbers come out.

The result is a pure function of model, windows and settings. Nothing that grows with the corpus is
held: each layer is reduced while the forward pass stands at it, and Z, A and C are dropped.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext

import torch

from headscope.free_memory import keeping_freed_memory
from headscope.measure_batch import BatchMeasurement
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.shard_builder import ShardBuilder
from headscope.runs.shards import Shard
from headscope.settings import Settings
from headscope.stage_times import timed
from headscope.text.batches import batches
from headscope.text.windows import Window
from headscope.threads import in_threads


def measure_windows(
    model: LoadedModel,
    windows: Sequence[Window],
    settings: Settings,
    *,
    sites: Sequence[AttentionSite],
    first_text: int = 0,
    on_texts: Callable[[int], None] = lambda texts: None,
) -> Shard:
    """The rows and summed arrays of some windows, at the sites asked for.

    Texts are numbered from `first_text`. Those that cannot be measured are left out, and named in
    the shard. `on_texts` is told how many texts are done, as they are.
    """
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    groups = batches(windows, max_tokens=settings.batch_tokens, workers=threads)
    # Every second batch of two threads, so that all take as long. Who takes what is fixed, and
    # with it the order of additions: equal thread counts give equal bits.
    shares = [groups[first::threads] for first in range(min(threads, len(groups)))]

    whole = ShardBuilder(
        texts=len(windows),
        first_text=first_text,
        sites=[(s.stack, s.layer, s.heads) for s in sites],
    )

    def measure(share: Iterable[list[int]]) -> ShardBuilder:
        builder = whole.partner()
        measurement = BatchMeasurement(model, windows, settings, sites, builder)
        for places in share:
            measurement.measure(places)
            on_texts(len(places))
        return builder

    # What a single long text frees would be too much to keep.
    several = settings.window_tokens < settings.batch_tokens
    with keeping_freed_memory() if several else nullcontext():
        builders = in_threads(measure, shares)
    with timed("building shards"):
        for builder in builders:
            whole.add(builder)
        return whole.shard()
