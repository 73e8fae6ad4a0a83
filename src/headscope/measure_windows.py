"""One shard of work: windows go through the model, numbers come out.

The result is a pure function of model, windows and settings. Nothing that grows with the corpus is
held: each layer is reduced while the forward pass stands at it, and Z, A and C are dropped.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray

from headscope.errors import MeasurementError
from headscope.kernels.aligned_sums import count_around_boundaries
from headscope.kernels.labels import SENTENCE, TokenLabels
from headscope.kernels.layer_statistics import layer_statistics
from headscope.kernels.position_sums import count_by_position
from headscope.kernels.statistics import KINDS, LayerStatistics
from headscope.kernels.text_batch import TextBatch
from headscope.models.capture import MassCapture
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.shard_builder import ShardBuilder, merged
from headscope.runs.shards import Shard
from headscope.settings import Settings
from headscope.text.batches import batches
from headscope.text.windows import Window
from headscope.threads import in_threads
from headscope.token_labels import label_tokens, shifted_right, text_batch


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

    Texts are numbered from `first_text`. `on_texts` is told how many texts are done, as they are.
    """
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    groups = batches(windows, max_tokens=settings.batch_tokens, at_least=threads)
    # Every second batch of two threads, so that all take as long. Who takes what is fixed, and
    # with it the order of additions: equal thread counts give equal bits.
    shares = [groups[first::threads] for first in range(min(threads, len(groups)))]

    def measure(share: Iterable[list[int]]) -> ShardBuilder:
        builder = ShardBuilder(
            texts=len(windows),
            first_text=first_text,
            sites=[(s.stack, s.layer, s.heads) for s in sites],
        )
        for places in share:
            batch = [windows[place] for place in places]
            _measure_batch(model, batch, np.asarray(places), settings, sites, builder)
            on_texts(len(batch))
        return builder

    return merged(in_threads(measure, shares)).shard()


def _measure_batch(
    model: LoadedModel,
    windows: Sequence[Window],
    places: NDArray[np.int64],
    settings: Settings,
    sites: Sequence[AttentionSite],
    builder: ShardBuilder,
) -> None:
    labels = label_tokens(windows, model.device)
    readings: dict[str, TextBatch] = {}
    for stack in dict.fromkeys(site.stack for site in sites):
        readings[stack] = stack_reading(model, stack, labels, settings, builder.first_text + places)
        for name, summed in _text_sums(readings[stack], settings).items():
            builder.add_array(stack, name, summed.cpu().numpy())

    def on_layer(capture: MassCapture) -> None:
        site = capture.site
        statistics = layer_statistics(
            capture.head_output,
            capture.mass,
            readings[site.stack],
            causal=site.causal,
            settings=settings,
        )
        refuse_unmeasurable(statistics.finite, site, windows)
        _keep(statistics, site, places, builder)

    model.forward_mass(labels.token_ids, labels.real, on_layer, sites=sites)


def stack_reading(
    model: LoadedModel,
    stack: str,
    labels: TokenLabels,
    settings: Settings,
    numbers: NDArray[np.int64],
) -> TextBatch:
    """The batch as a stack reads it: the decoder of an encoder-decoder reads it shifted right."""
    queries = keys = labels
    if model.config.is_encoder_decoder and stack in ("decoder", "cross"):
        start = model.decoder_inputs(labels.token_ids, labels.real)["decoder_input_ids"][0, 0]
        queries = shifted_right(labels, int(start))
        keys = labels if stack == "cross" else queries
    return text_batch(queries, keys, settings, numbers)


def _text_sums(batch: TextBatch, settings: Settings) -> dict[str, torch.Tensor]:
    """What is counted of the texts alone, whatever the heads do."""
    window = settings.window_tokens
    pairs = batch.baseline.pairs
    inside = (batch.baseline.rates[SENTENCE] * pairs).round()
    kinds = batch.queries.kinds[batch.counted]

    def padded(by_distance: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(by_distance, (0, window - len(by_distance)))

    return {
        "position_count": count_by_position(batch.counted, window),
        "aligned_count": count_around_boundaries(batch),
        "distance_baseline": padded(pairs.sum(0)),
        "within_baseline": padded(inside.sum(0)),
        "token_kinds": torch.bincount(kinds, minlength=KINDS).double(),
    }


def _keep(
    statistics: LayerStatistics,
    site: AttentionSite,
    places: NDArray[np.int64],
    builder: ShardBuilder,
) -> None:
    rows = {name: values.cpu().numpy() for name, values in statistics.rows.items()}
    builder.add_rows(site.stack, site.layer, places, rows)
    sweep = {name: values.cpu().numpy() for name, values in statistics.sweep.items()}
    builder.add_sweep(site.stack, site.layer, places, sweep)
    for name, summed in statistics.sums.items():
        builder.add_array(site.stack, name, summed.cpu().numpy(), layer=site.layer)


def refuse_unmeasurable(
    finite: Bool[torch.Tensor, " batch"], site: AttentionSite, windows: Sequence[Window]
) -> None:
    """Raise where the model wrote NaN or infinity for a token of a window."""
    if bool(finite.all()):
        return
    text = int((~finite).nonzero()[0])
    raise MeasurementError(
        f"layer {site.layer} ({site.stack}) writes NaN or infinity for a window "
        f"of document {windows[text].document!r}; try --dtype float32, or leave that document out"
    )
