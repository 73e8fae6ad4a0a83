"""One shard of work: windows go through the model, numbers come out.

The result is a pure function of model, windows and settings. Nothing that grows with the corpus is
held: each layer is reduced while the forward pass stands at it, and Z, A and C are dropped.
"""

from collections.abc import Callable, Collection, Sequence

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from headscope.errors import MeasurementError
from headscope.kernels.layer_statistics import LayerStatistics, layer_statistics
from headscope.kernels.position_sums import count_by_position, position_bins
from headscope.kernels.text_batch import PairBaseline, TokenLabels, pair_baseline
from headscope.models.capture import LayerCapture
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.reduce import KEY_COLUMNS
from headscope.runs.shards import Shard
from headscope.settings import Settings
from headscope.text.batches import batches
from headscope.text.windows import Window
from headscope.token_labels import label_tokens, shifted_right

_INTEGER_COLUMNS = {"text": pa.int64(), "focal_token": pa.int32()}


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
    work = _ShardWork(model, settings, sites, first_text)
    for batch in batches(windows, max_tokens=settings.batch_tokens):
        work.add([windows[index] for index in batch], batch)
        on_texts(len(batch))
    return work.shard()


class _ShardWork:
    """The rows and sums of a shard while its batches come in."""

    def __init__(
        self,
        model: LoadedModel,
        settings: Settings,
        sites: Sequence[AttentionSite],
        first_text: int,
    ) -> None:
        self.model = model
        self.settings = settings
        self.sites = sites
        self.first_text = first_text
        self.pieces: list[pa.Table] = []
        self.arrays = _zero_arrays(settings, sites)

    def add(self, windows: Sequence[Window], places: Sequence[int]) -> None:
        """Run one batch. `places` are the places of its windows in the shard."""
        labels = label_tokens(windows, self.model.device)
        readings = _Readings.of(self.model, labels, self.sites, self.settings)
        self._add_texts(readings)
        numbers = self.first_text + np.asarray(places)

        def on_layer(capture: LayerCapture) -> None:
            _refuse_unmeasurable(capture, labels, windows)
            self._add_layer(capture, readings, numbers)

        self.model.forward(labels.token_ids, labels.real, on_layer, sites=self.sites)

    def _add_layer(
        self, capture: LayerCapture, readings: "_Readings", numbers: NDArray[np.int64]
    ) -> None:
        site = capture.site
        queries = readings.queries[site.stack]
        statistics = layer_statistics(
            capture.head_output,
            capture.attention,
            queries=queries,
            keys=readings.keys[site.stack],
            baseline=readings.baselines[site.stack],
            causal=site.causal,
            settings=self.settings,
        )
        self.pieces.append(_rows(statistics, site, numbers))
        layer = self._layers_of(site.stack).index(site.layer)
        for name, summed in statistics.sums.items():
            self.arrays[f"{site.stack}/{name}"][layer, : site.heads] += summed.cpu().numpy()

    def _add_texts(self, readings: "_Readings") -> None:
        """What is counted of the texts alone, once for each stack."""
        window = self.settings.window_tokens
        for stack, baseline in readings.baselines.items():
            by_distance = baseline.pairs.sum(0).cpu().numpy()
            self.arrays[f"{stack}/distance_baseline"][: len(by_distance)] += by_distance
            positions = count_by_position(baseline.counted, window)
            self.arrays[f"{stack}/position_count"] += positions.cpu().numpy()

    def _layers_of(self, stack: str) -> list[int]:
        return [site.layer for site in self.sites if site.stack == stack]

    def shard(self) -> Shard:
        """The finished shard, its rows in the order of text, stack, layer and head."""
        rows = pa.concat_tables(self.pieces).combine_chunks()
        return Shard(
            rows.sort_by([(column, "ascending") for column in KEY_COLUMNS]),
            self.arrays,
        )


class _Readings:
    """The labels of a batch as each stack reads it."""

    def __init__(
        self,
        queries: dict[str, TokenLabels],
        keys: dict[str, TokenLabels],
        baselines: dict[str, PairBaseline],
    ) -> None:
        self.queries = queries
        self.keys = keys
        self.baselines = baselines

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        labels: TokenLabels,
        sites: Collection[AttentionSite],
        settings: Settings,
    ) -> "_Readings":
        """Encoders read the text; the decoder of an encoder-decoder reads it shifted right."""
        stacks = list(dict.fromkeys(site.stack for site in sites))
        queries, keys = dict.fromkeys(stacks, labels), dict.fromkeys(stacks, labels)
        if model.config.is_encoder_decoder:
            start = model.decoder_inputs(labels.token_ids, labels.real)["decoder_input_ids"][0, 0]
            shifted = shifted_right(labels, int(start))
            queries |= {stack: shifted for stack in stacks if stack in ("decoder", "cross")}
            keys |= {stack: shifted for stack in stacks if stack == "decoder"}
        baselines = {
            stack: pair_baseline(queries[stack], special_tokens=settings.special_tokens)
            for stack in stacks
        }
        return cls(queries, keys, baselines)


def _zero_arrays(
    settings: Settings, sites: Sequence[AttentionSite]
) -> dict[str, NDArray[np.float64]]:
    bins, window = position_bins(settings.window_tokens), settings.window_tokens
    arrays: dict[str, NDArray[np.float64]] = {}
    for stack in dict.fromkeys(site.stack for site in sites):
        layers = sum(site.stack == stack for site in sites)
        heads = max(site.heads for site in sites if site.stack == stack)
        arrays[f"{stack}/similarity_sum"] = np.zeros((layers, heads, bins, bins))
        arrays[f"{stack}/distance_histogram"] = np.zeros((layers, heads, window))
        arrays[f"{stack}/distance_baseline"] = np.zeros(window)
        arrays[f"{stack}/position_count"] = np.zeros((bins, bins))
    return arrays


def _rows(statistics: LayerStatistics, site: AttentionSite, numbers: NDArray[np.int64]) -> pa.Table:
    texts = len(numbers)
    columns = {
        "text": np.repeat(numbers, site.heads),
        "stack": np.full(texts * site.heads, site.stack),
        "layer": np.full(texts * site.heads, site.layer, dtype=np.int16),
        "head": np.tile(np.arange(1, site.heads + 1, dtype=np.int16), texts),
        "texts": np.ones(texts * site.heads),
    }
    columns |= {name: values.cpu().numpy().ravel() for name, values in statistics.rows.items()}
    table = pa.table(columns)
    for name, kind in _INTEGER_COLUMNS.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    return table


def _refuse_unmeasurable(
    capture: LayerCapture, labels: TokenLabels, windows: Sequence[Window]
) -> None:
    finite = torch.isfinite(capture.head_output).all(-1).all(1) | ~labels.real
    if bool(finite.all()):
        return
    text = int((~finite).any(-1).nonzero()[0])
    raise MeasurementError(
        f"layer {capture.site.layer} ({capture.site.stack}) writes NaN or infinity for a window "
        f"of document {windows[text].document!r}; try --dtype float32, or leave that document out"
    )
