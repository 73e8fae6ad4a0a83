"""Explaining boundaries: which heads and which signals put them there.

By integrated gradients (Sundararajan et al. 2017) from the average token and gap of the training
texts to the ones at hand, so that contributions add up to the log odds exactly (up to the numerical
integration).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.segment.boundary_net import CandidateInputs
from headscope.segment.candidates import Candidates, find_candidates
from headscope.segment.head_signals import SIGNALS
from headscope.segment.mode_weights import ModeWeights, rule_column
from headscope.segment.read_heads import LayerMap, read_heads, text_tokenizer

_STEPS = 32
"""Points at which the gradient is taken on the way from the average to the text."""


def explain_boundaries(
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    weights: ModeWeights,
    text: str,
    characters: Sequence[int],
) -> pd.DataFrame:
    """A row per boundary, layer, head and signal: what it adds to the log odds of the boundary."""
    encoding = text_tokenizer(model).encode(text)
    everywhere = find_candidates(text, encoding)
    at = np.isin(everywhere.characters, characters)
    candidates = Candidates(everywhere.characters[at], everywhere.tokens[at])
    if not len(candidates):
        return _table([], candidates)
    rank = weights.net.shape.rank
    (reading,) = read_heads(model, [encoding], sites, _maps_by_head(weights, sites))
    by_head = reading.columns.unflatten(1, (-1, rank))  # type: ignore[no-untyped-call]
    summed = type(reading)(by_head.sum(1), reading.signals)
    inputs = weights.inputs(summed, candidates, text)
    gradient, total = _integrated_gradient(weights, inputs)
    scale = weights.calibration.scale

    parts = _split(gradient, inputs)
    rows: list[tuple[int, int, str, Float[Tensor, " candidate"]]] = []
    context = weights.net.shape.context
    places = torch.from_numpy(candidates.tokens)[:, None] + torch.arange(-context, context)
    inside = inputs.inside.bool()
    around = by_head[places.clamp(0, len(by_head) - 1)] * inside[..., None, None]
    output = torch.einsum("ctr,cthr->ch", parts.projected, around)
    signals = (parts.signals * inputs.signals).unflatten(1, (-1, len(SIGNALS)))  # type: ignore[no-untyped-call]
    number = 0
    for site in sites:
        for head in range(1, site.heads + 1):
            rows.append((site.layer, head, "output", output[:, number]))
            for place, name in enumerate(SIGNALS):
                rows.append((site.layer, head, name, signals[:, number, place]))
            number += 1
    if weights.net.shape.surface:
        ruled = (
            torch.from_numpy(rule_column(inputs.surface)) * weights.calibration.rule_shift / scale
        )
        rows.append((0, 0, "surface", (parts.surface * inputs.surface).sum(1) + ruled))
    explained = sum((values for *_, values in rows), torch.zeros(len(candidates)))
    scaled = [(layer, head, signal, values * scale) for layer, head, signal, values in rows]
    # The average token and gap, the bias of the projection, and where the text ends.
    odds = weights.calibration.log_odds(total.double().numpy(), rule_column(inputs.surface))
    rest = torch.from_numpy(odds) - explained * scale
    return _table([*scaled, (0, 0, "base", rest)], candidates)


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
    weights: ModeWeights, inputs: CandidateInputs
) -> tuple[Float[Tensor, "candidate input"], Float[Tensor, " candidate"]]:
    """The mean gradient on the way from all zeros to the inputs, and the output there."""
    whole = inputs.joined()
    gradient = torch.zeros_like(whole)
    for step in range(_STEPS):
        here = (whole * ((step + 0.5) / _STEPS)).requires_grad_()
        (part,) = torch.autograd.grad(weights.net(here).sum(), here)
        gradient += part / _STEPS
    with torch.inference_mode():
        return gradient, weights.net(whole)


def _split(joined: Float[Tensor, "candidate input"], like: CandidateInputs) -> CandidateInputs:
    """A row per candidate, taken apart as inputs are put together."""
    sizes = [
        like.projected[0].numel(),
        like.inside.shape[1],
        like.signals.shape[1],
        like.surface.shape[1],
    ]
    projected, inside, signals, surface = joined.split(sizes, dim=1)  # type: ignore[no-untyped-call]
    return CandidateInputs(projected.reshape(like.projected.shape), inside, signals, surface)


def _table(
    rows: Sequence[tuple[int, int, str, Float[Tensor, " candidate"]]], candidates: Candidates
) -> pd.DataFrame:
    columns = ["boundary", "layer", "head", "signal", "contribution"]
    tables = [
        pd.DataFrame(
            {
                "boundary": candidates.characters,
                "layer": layer,
                "head": head,
                "signal": signal,
                "contribution": values.double().numpy(),
            }
        )
        for layer, head, signal, values in rows
    ]
    if not tables:
        return pd.DataFrame(columns=columns)
    table = pd.concat(tables, ignore_index=True)
    order = ["boundary", "contribution"]
    return table.sort_values(order, ascending=[True, False], kind="stable", ignore_index=True)
