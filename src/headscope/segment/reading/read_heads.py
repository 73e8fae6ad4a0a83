"""What the heads of a model write for each token of some texts, reduced while the model runs.

The head outputs of a layer are multiplied by a matrix as soon as they are computed, so that only a
few values per token are kept, whatever the size of the model, and no attention map is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.errors import MeasurementError
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite, LayerCapture
from headscope.segment.reading.head_signals import SIGNALS, head_signals
from headscope.segment.reading.window_batches import PaddedBatch, for_each_batch
from headscope.text.encoding import Encoding


@dataclass(frozen=True, eq=False, slots=True)
class LayerMap:
    """Where the head outputs of a layer go: through a matrix, into some columns."""

    matrix: Float[Tensor, "output column"] | None
    """The first d_head rows are for head 1, and so on. None is the identity."""
    columns: int
    first_column: int
    """Layers that share columns are added."""


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What the heads wrote for the tokens of one text."""

    columns: Float[Tensor, "token column"]
    """The head outputs through the maps of their layers."""
    signals: Float[Tensor, "token number"]
    """The signals of each head for the gap before each token: layer, head, signal, flattened."""


def read_sites(model: LoadedModel, layers: tuple[int, ...]) -> tuple[AttentionSite, ...]:
    """The sites of some layers in the first stack of the model: the encoder, where there is one.

    Args:
        model: The model.
        layers: The numbers of the layers, from 1.
    """
    return tuple(site for site in model.sites_of(layers) if site.stack == model.stacks[0])


def read_heads(
    model: LoadedModel,
    encodings: Sequence[Encoding],
    sites: Sequence[AttentionSite],
    maps: Sequence[LayerMap],
    *,
    dtype: torch.dtype = torch.float32,
    exact: bool = True,
) -> list[Reading]:
    """What the heads at `sites` write for every token of every text.

    Texts of any length are read in overlapping windows, and each token is taken from a window in
    which it has context on both sides. Windows of all texts go through the model together, sorted
    by length.

    Args:
        model: The model.
        encodings: The tokens of each text.
        sites: The attention sites that are read.
        maps: What each site's head outputs are multiplied by, in the order of `sites`.
        dtype: Of what is kept.
        exact: Whether the model reads in its own precision, see `rough_linear_maps`.
    """
    n_columns = max(layer_map.first_column + layer_map.columns for layer_map in maps)
    n_signals = sum(site.heads for site in sites) * len(SIGNALS)
    readings = [
        Reading(
            torch.zeros(len(encoding.token_ids), n_columns, dtype=dtype),
            torch.zeros(len(encoding.token_ids), n_signals, dtype=dtype),
        )
        for encoding in encodings
    ]

    def read(batch: PaddedBatch) -> None:
        _read_batch(model, batch, sites, maps, readings)

    for_each_batch(model, encodings, read, exact=exact)
    return readings


def identity_maps(sites: Sequence[AttentionSite]) -> list[LayerMap]:
    """Maps that keep the whole output of every head: layer by layer, head by head.

    Args:
        sites: The attention sites that are read.
    """
    maps, first = [], 0
    for site in sites:
        maps.append(LayerMap(None, site.heads * site.d_head, first))
        first += site.heads * site.d_head
    return maps


def _read_batch(
    model: LoadedModel,
    batch: PaddedBatch,
    sites: Sequence[AttentionSite],
    maps: Sequence[LayerMap],
    readings: Sequence[Reading],
) -> None:
    counted_there = batch.counted.to(model.device)
    place_of = {site: place for place, site in enumerate(sites)}
    signal_starts = [0]
    for site in sites:
        signal_starts.append(signal_starts[-1] + site.heads * len(SIGNALS))

    def on_layer(capture: LayerCapture) -> None:
        place = place_of[capture.site]
        layer_map = maps[place]
        joined = capture.head_output.transpose(1, 2).flatten(2)  # batch token (head d_head)
        if layer_map.matrix is not None:
            joined = joined.to(layer_map.matrix) @ layer_map.matrix
        columns = joined.cpu()
        if not bool(torch.isfinite(columns[batch.counted]).all()):
            raise MeasurementError(
                f"layer {capture.site.layer} of {model.name} writes NaN or infinity; "
                "load the model with dtype float32"
            )
        at_gaps = head_signals(capture.head_output, capture.attention, counted_there)
        at_gaps = at_gaps.flatten(2).cpu()
        into_columns = slice(layer_map.first_column, layer_map.first_column + layer_map.columns)
        into_signals = slice(signal_starts[place], signal_starts[place + 1])
        for row, window, read in batch.kept():
            kept = slice(window.kept_start, window.kept_end)
            readings[window.text].columns[kept, into_columns] += columns[row, read]
            readings[window.text].signals[kept, into_signals] = at_gaps[row, read]

    model.forward(batch.token_ids, batch.real, on_layer, sites=sites)
