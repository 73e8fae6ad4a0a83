"""How much attention each token receives, and which tokens receive much."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def column_mass(
    attention: Float[Tensor, "batch head query key"],
    query_real: Bool[Tensor, "batch query"] | Float[Tensor, "batch query"],
) -> Float[Tensor, "batch head key"]:
    """s_j = sum over queries i of A_ij, padding left out of the sum."""
    weights = attention.float() if attention.dtype != torch.float64 else attention
    # As a product of matrices; einsum would first transpose every map.
    return (query_real.to(weights.dtype)[:, None, None, :] @ weights)[:, :, 0]


def scaled_column_mass(
    mass: Float[Tensor, "batch head key"],
    scaling: Bool[Tensor, "batch key"],
    viewers: Float[Tensor, "batch key"],
) -> Float[Tensor, "batch head key"]:
    """Column mass per query that can see the token, with the largest of the text at 1.

    Under a causal mask the first token is seen by every query and the last by one: without the
    division by `viewers` the measure would be a picture of the mask. Only `scaling` tokens set the
    scale, and the others get 0: a special token that draws most of the attention, as many models
    have, would leave no other above any threshold.
    """
    per_viewer = mass / viewers.clamp_min(1)[:, None]
    per_viewer = per_viewer.masked_fill(~scaling[:, None], 0)
    return per_viewer / per_viewer.amax(-1, keepdim=True).clamp_min(torch.finfo(mass.dtype).tiny)


def viewers(
    query_real: Bool[Tensor, "batch query"], keys: int, *, causal: bool
) -> Float[Tensor, "batch key"]:
    """How many queries can see each key: all of them, or those from its position on."""
    if not causal:
        return query_real.sum(-1, keepdim=True).float().expand(-1, keys)
    return query_real.float().flip(-1).cumsum(-1).flip(-1)


def attention_share(
    mass: Float[Tensor, "batch head key"],
    keys: Bool[Tensor, "batch key"],
) -> Float[Tensor, "batch head"]:
    """The share of all attention of a text that falls on `keys`."""
    return (mass * keys[:, None]).sum(-1) / mass.sum(-1)
