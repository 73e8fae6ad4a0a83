"""Explanations of boundaries: how much each head and signal adds to the log odds.

By integrated gradients (Sundararajan et al. 2017), from the average token and gap of the training
texts to those of the text, so that contributions add up to the log odds (up to the error of the
numerical integration).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.segment.reading.head_signals import SIGNALS
from headscope.segment.reading.read_heads import LayerMap, Reading, read_heads
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.sentences.boundary_net import NetInput
from headscope.segment.sentences.candidates import find_candidates
from headscope.segment.sentences.mode_weights import ModeWeights

_STEPS = 32
"""Number of points between the average and the text at which the gradient is taken."""

_COLUMNS = ["boundary", "layer", "head", "signal", "contribution"]


def explain_boundaries(
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    weights: ModeWeights,
    text: str,
    characters: Sequence[int],
    *,
    exact: bool = False,
) -> pd.DataFrame:
    """A row per boundary, layer, head and signal: what it adds to the log odds of the boundary.

    Args:
        model: The model that reads the text.
        sites: The sites that the weights were learned for.
        weights: Those for the mode of the text.
        text: The text.
        characters: The characters at which its boundaries are.
        exact: Whether the model reads in its own precision.
    """
    encoding = text_tokenizer(model).encode(text)
    candidates = find_candidates(text, encoding)
    boundaries = np.isin(candidates.characters, characters)
    maps = _maps_by_head(weights, sites)
    (reading,) = read_heads(model, [encoding], sites, maps, exact=exact)
    if not boundaries.any() or not len(reading.columns):
        return pd.DataFrame(columns=_COLUMNS)
    by_head = reading.columns.unflatten(1, (-1, weights.net.shape.rank))  # type: ignore[no-untyped-call]
    whole = weights.net_input(Reading(by_head.sum(1), reading.signals), candidates, text)
    at = weights.places(reading, candidates)[torch.from_numpy(boundaries)]
    seen, around = _around(whole, at, weights.net.shape.reach)
    gradient, total = _integrated_gradient(weights, seen)

    inside = seen.inside[..., None, None]
    output = torch.einsum("btr,bthr->bh", gradient.tokens, by_head[around] * inside)
    gaps = (gradient.gaps * seen.gaps).sum(1)
    heads = output.shape[1]
    signals = gaps[:, : heads * len(SIGNALS)].unflatten(1, (heads, len(SIGNALS)))  # type: ignore[no-untyped-call]
    parts: list[tuple[int, int, str, Float[Tensor, " boundary"]]] = []
    names = [(site.layer, head) for site in sites for head in range(1, site.heads + 1)]
    for number, (layer, head) in enumerate(names):
        parts.append((layer, head, "output", output[:, number]))
        for place, signal in enumerate(SIGNALS):
            parts.append((layer, head, signal, signals[:, number, place]))
    if weights.net.shape.surface:
        parts.append((0, 0, "surface", gaps[:, heads * len(SIGNALS) :].sum(1)))
    # What is left: the average token and gap, the bias of the projection, the ends of the text.
    rest = total - sum((values for *_, values in parts), torch.zeros(len(total)))
    scale, shift = weights.calibration.scale, weights.calibration.shift
    scaled = [(layer, head, signal, values * scale) for layer, head, signal, values in parts]
    scaled.append((0, 0, "base", rest * scale + shift))
    return _table(scaled, candidates.characters[boundaries])


def _around(
    whole: NetInput, at: Int[Tensor, " boundary"], reach: int
) -> tuple[NetInput, Int[Tensor, "boundary token"]]:
    """The tokens around each boundary that its log odds depend on, and their numbers."""
    tokens = at[:, None] + torch.arange(-reach, reach + 1)
    inside = (tokens >= 0) & (tokens < whole.tokens.shape[1])
    tokens = tokens.clamp(0, whole.tokens.shape[1] - 1)
    shown = inside.float()
    return (
        NetInput(
            whole.tokens[0][tokens] * shown[..., None],
            whole.gaps[0][tokens] * shown[..., None],
            shown,
        ),
        tokens,
    )


def _maps_by_head(weights: ModeWeights, sites: Sequence[AttentionSite]) -> list[LayerMap]:
    """The projection of each head into columns of its own."""
    rank = weights.net.shape.rank
    maps, first = [], 0
    for site, layer_map in zip(sites, weights.layer_maps(sites), strict=True):
        assert layer_map.matrix is not None
        blocks = layer_map.matrix.split(site.d_head)  # type: ignore[no-untyped-call]
        maps.append(LayerMap(torch.block_diag(*blocks), site.heads * rank, first))  # type: ignore[no-untyped-call]
        first += site.heads * rank
    return maps


def _integrated_gradient(
    weights: ModeWeights, seen: NetInput
) -> tuple[NetInput, Float[Tensor, " boundary"]]:
    """The mean gradient between an input of zeros and the given one, and the output for it."""
    middle = weights.net.shape.reach
    tokens, gaps = torch.zeros_like(seen.tokens), torch.zeros_like(seen.gaps)
    for step in range(_STEPS):
        share = (step + 0.5) / _STEPS
        here = NetInput(
            (seen.tokens * share).requires_grad_(),
            (seen.gaps * share).requires_grad_(),
            seen.inside,
        )
        odds = weights.net(here)[:, middle].sum()
        towards_tokens, towards_gaps = torch.autograd.grad(odds, (here.tokens, here.gaps))
        tokens += towards_tokens / _STEPS
        gaps += towards_gaps / _STEPS
    with torch.inference_mode():
        return NetInput(tokens, gaps, seen.inside), weights.net(seen)[:, middle]


def _table(
    parts: Sequence[tuple[int, int, str, Float[Tensor, " boundary"]]],
    characters: Int64[np.ndarray, " boundary"],
) -> pd.DataFrame:
    tables = [
        pd.DataFrame(
            {
                "boundary": characters,
                "layer": layer,
                "head": head,
                "signal": signal,
                "contribution": values.double().numpy(),
            }
        )
        for layer, head, signal, values in parts
    ]
    table = pd.concat(tables, ignore_index=True)[_COLUMNS]
    order = ["boundary", "contribution"]
    return table.sort_values(order, ascending=[True, False], kind="stable", ignore_index=True)
