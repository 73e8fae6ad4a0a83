"""Similarity summed over texts, by the positions of the two tokens."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

MAX_POSITION_BINS = 128
"""Longer windows are summed in this many equal bins: memory then does not grow with length."""


def position_bins(window_tokens: int) -> int:
    """Number of bins along each side of a summed matrix: one per position up to 128."""
    return min(window_tokens, MAX_POSITION_BINS)


def sum_by_position(
    similarity: Float[Tensor, "batch head token token"],
    counted: Bool[Tensor, "batch token"],
    window_tokens: int,
) -> Float[Tensor, "head position position"]:
    """The sum of C over the texts of a batch, for the pairs of counted tokens.

    float64, since a corpus adds tens of thousands of these.
    """
    both = counted[:, None, :, None] & counted[:, None, None, :]
    summed = similarity.masked_fill(~both, 0).sum(0, dtype=torch.float64)
    return _into_bins(summed, window_tokens)


def count_by_position(
    counted: Bool[Tensor, "batch token"], window_tokens: int
) -> Float[Tensor, "position position"]:
    """How many pairs of a batch fell on each pair of positions: sum / count is the mean."""
    both = (counted[:, :, None] & counted[:, None, :]).sum(0, dtype=torch.float64)
    return _into_bins(both.fill_diagonal_(0)[None], window_tokens)[0]


def _into_bins(
    matrix: Float[Tensor, "head token token"], window_tokens: int
) -> Float[Tensor, "head position position"]:
    n, bins = matrix.shape[-1], position_bins(window_tokens)
    if window_tokens == bins:
        return torch.nn.functional.pad(matrix, (0, bins - n, 0, bins - n))
    bin_of = torch.arange(n, device=matrix.device) * bins // window_tokens
    member = torch.nn.functional.one_hot(bin_of, bins).to(matrix.dtype)
    return torch.einsum("hij,ip,jq->hpq", matrix, member, member)
