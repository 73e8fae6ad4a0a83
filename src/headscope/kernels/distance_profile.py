"""Similarity by distance: how far a head reaches, and whether sentences stand out as blocks."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.kernels.window_batch import SENTENCE, WindowBatch, together


@dataclass(frozen=True, slots=True)
class DistanceProfile:
    """Sums of C over the pairs of counted tokens of each window, by their distance."""

    all: Float[Tensor, "batch head distance"]
    within: Float[Tensor, "batch head distance"]
    """Of pairs inside one sentence."""
    positive: Float[Tensor, "batch head distance"]
    """Of max(C, 0)."""
    deviation: Float[Tensor, "batch head"]
    """Standard deviation of C over the pairs; NaN for fewer than two."""


def distance_profile(
    similarity: Float[Tensor, "batch head token token"], batch: WindowBatch
) -> DistanceProfile:
    """The sums of C by distance, in float64.

    Args:
        similarity: C of every window and head.
        batch: The windows.
    """
    counted = batch.counted
    n = similarity.shape[-1]
    i, j = torch.triu_indices(n, n, 1, device=similarity.device)
    possible = (counted[:, i] & counted[:, j])[:, None]
    inside = together(batch.queries.groups[SENTENCE : SENTENCE + 1])[0, :, i, j][:, None]
    values = similarity[:, :, i, j].double() * possible

    def by_distance(
        weights: Float[Tensor, "batch head pair"],
    ) -> Float[Tensor, "batch head distance"]:
        return weights.new_zeros((*weights.shape[:2], n)).index_add_(-1, j - i, weights)

    count = possible.sum(-1).double()
    mean = values.sum(-1) / count
    squares = ((values - mean[..., None]).square() * possible).sum(-1)
    return DistanceProfile(
        all=by_distance(values),
        within=by_distance(values * inside),
        positive=by_distance(values.clamp_min(0)),
        deviation=(squares / (count - 1)).sqrt(),
    )


def half_distance(positive: Float[Tensor, "*axes distance"]) -> Float[Tensor, "*axes"]:
    """The distance within which half of the positive similarity lies; NaN where there is none.

    Args:
        positive: Sums of max(C, 0) by distance.
    """
    reached = positive.cumsum(-1)
    total = reached[..., -1:]
    half = (reached < total / 2).sum(-1).double()
    return half.masked_fill(total[..., 0] <= 0, torch.nan)


def block_contrast(profile: DistanceProfile, batch: WindowBatch) -> Float[Tensor, "batch head"]:
    """How much more similar two tokens of one sentence are than two of different sentences.

    The difference of the means at each distance, in standard deviations of C over the window,
    averaged over the distances at which both kinds of pairs occur; n pairs of one kind and m of the
    other weigh n m / (n + m). NaN where no distance has both, or where C does not vary.

    Args:
        profile: The sums of C by distance.
        batch: The windows.
    """
    pairs = batch.baseline.pairs[:, None]
    inside = (batch.baseline.rates[SENTENCE] * batch.baseline.pairs).round()[:, None]
    across = pairs - inside
    both: Bool[Tensor, "batch 1 distance"] = (inside > 0) & (across > 0)
    difference = profile.within / inside.clamp_min(1) - (
        profile.all - profile.within
    ) / across.clamp_min(1)
    weight = torch.where(both, inside * across / pairs.clamp_min(1), 0.0)
    contrast = (difference * weight).sum(-1) / weight.sum(-1)
    return torch.where(profile.deviation > 0, contrast / profile.deviation, torch.nan)
