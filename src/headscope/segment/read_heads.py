"""What the heads of a model write at each token of some texts, reduced while the model runs.

The head outputs of a layer are multiplied by a matrix as soon as they are there, so that a few
numbers per token are kept whatever the size of the model, and never an attention map.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.errors import MeasurementError, SettingsError
from headscope.models.capture import LayerCapture
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.segment.head_signals import SIGNALS, head_signals
from headscope.segment.overlap import OverlapWindow, overlap_windows
from headscope.text.encoding import Encoding
from headscope.threads import in_threads

WINDOW_TOKENS = 128
MARGIN_TOKENS = 12
BATCH_TOKENS = 512
"""Tokens that go through the model at once: few, so that attention maps stay in a core's cache."""


@dataclass(frozen=True, eq=False, slots=True)
class LayerMap:
    """Where the head outputs of a layer go: through a matrix, into some columns."""

    matrix: Float[Tensor, "output column"] | None
    """Heads side by side in the rows: head 1 has the first d_head of them. None keeps all."""
    columns: int
    first_column: int
    """Layers that share columns are added up."""


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """What the heads wrote for the tokens of one text."""

    columns: Float[Tensor, "token column"]
    """The head outputs through the maps of their layers."""
    signals: Float[Tensor, "token number"]
    """The signals of each head for the gap before each token: layer, head, signal, flattened."""


def text_tokenizer(model: LoadedModel) -> HeadscopeTokenizer:
    """The tokenizer of a model.

    Raises:
        SettingsError: the model reads no text.
    """
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text: segmenting needs a model of text")
    return model.tokenizer


def read_sites(model: LoadedModel, layers: tuple[int, ...]) -> tuple[AttentionSite, ...]:
    """The sites of some layers in the first stack of the model: the encoder, where there is one."""
    return tuple(site for site in model.sites_of(layers) if site.stack == model.stacks[0])


def read_heads(
    model: LoadedModel,
    encodings: Sequence[Encoding],
    sites: Sequence[AttentionSite],
    maps: Sequence[LayerMap],
    *,
    dtype: torch.dtype = torch.float32,
    signals: bool = True,
) -> list[Reading]:
    """What the heads at `sites` write for every token of every text.

    Texts of any length: they are read in overlapping windows, and each token is taken from a window
    in which it has context on both sides. Windows of all texts go through the model together,
    sorted by length. Without `signals`, those have no columns.
    """
    n_columns = max(layer_map.first_column + layer_map.columns for layer_map in maps)
    n_signals = sum(site.heads for site in sites) * len(SIGNALS) if signals else 0
    readings = [
        Reading(
            torch.zeros(len(encoding.token_ids), n_columns, dtype=dtype),
            torch.zeros(len(encoding.token_ids), n_signals, dtype=dtype),
        )
        for encoding in encodings
    ]

    def read(share: Iterable[Sequence[OverlapWindow]]) -> None:
        for batch in share:
            _read_batch(model, encodings, batch, sites, maps, readings)

    batches = list(_batches(model, encodings))
    if not batches:
        return readings
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    # Each token is kept in one window, so threads never write to the same place.
    in_threads(read, [batches[first::threads] for first in range(min(threads, len(batches)))])
    return readings


def keep_all(sites: Sequence[AttentionSite]) -> list[LayerMap]:
    """Maps that keep every number of every head: layer after layer, head after head."""
    maps, first = [], 0
    for site in sites:
        maps.append(LayerMap(None, site.heads * site.d_head, first))
        first += site.heads * site.d_head
    return maps


def _batches(
    model: LoadedModel, encodings: Sequence[Encoding]
) -> Iterator[Sequence[OverlapWindow]]:
    tokenizer = text_tokenizer(model)
    special = len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
    size = min(WINDOW_TOKENS, tokenizer.max_tokens or WINDOW_TOKENS) - special
    margin = min(MARGIN_TOKENS, size // 4)
    windows = [
        window
        for number, encoding in enumerate(encodings)
        for window in overlap_windows(number, len(encoding.token_ids), size=size, margin=margin)
    ]
    windows.sort(key=lambda window: -window.n_tokens)
    first = 0
    while first < len(windows):
        count = max(1, BATCH_TOKENS // (windows[first].n_tokens + special))
        yield windows[first : first + count]
        first += count


def _read_batch(
    model: LoadedModel,
    encodings: Sequence[Encoding],
    batch: Sequence[OverlapWindow],
    sites: Sequence[AttentionSite],
    maps: Sequence[LayerMap],
    readings: Sequence[Reading],
) -> None:
    tokenizer = text_tokenizer(model)
    prefix, suffix = tokenizer.prefix_ids, tokenizer.suffix_ids
    longest = len(prefix) + batch[0].n_tokens + len(suffix)
    token_ids = torch.full((len(batch), longest), tokenizer.pad_id, dtype=torch.long)
    real = torch.zeros((len(batch), longest), dtype=torch.bool)
    counted = torch.zeros((len(batch), longest), dtype=torch.bool)
    for row, window in enumerate(batch):
        body = encodings[window.text].token_ids[window.first : window.behind].tolist()
        whole = [*prefix, *body, *suffix]
        token_ids[row, : len(whole)] = torch.tensor(whole)
        real[row, : len(whole)] = True
        counted[row, len(prefix) : len(prefix) + len(body)] = True
    counted_there = counted.to(model.device)
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
        if not bool(torch.isfinite(columns[counted]).all()):
            raise MeasurementError(
                f"layer {capture.site.layer} of {model.name} writes NaN or infinity; "
                "load the model with dtype float32"
            )
        at_gaps = None
        if readings[0].signals.shape[1]:
            at_gaps = head_signals(capture.head_output, capture.attention, counted_there)
            at_gaps = at_gaps.flatten(2).cpu()
        into_columns = slice(layer_map.first_column, layer_map.first_column + layer_map.columns)
        into_signals = slice(signal_starts[place], signal_starts[place + 1])
        for row, window in enumerate(batch):
            shift = len(prefix) - window.first
            kept = slice(window.kept_first, window.kept_behind)
            read = slice(window.kept_first + shift, window.kept_behind + shift)
            readings[window.text].columns[kept, into_columns] += columns[row, read]
            if at_gaps is not None:
                readings[window.text].signals[kept, into_signals] = at_gaps[row, read]

    model.forward(token_ids, real, on_layer, sites=sites)
