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
    """The sum of C over the texts of a batch, for the pairs i < j of counted tokens.

    Only the upper triangle is filled: C is symmetric. float64, since a corpus adds tens of
    thousands of these.
    """
    both = counted[:, None, :, None] & counted[:, None, None, :]
    summed = similarity.masked_fill(~both, 0).sum(0, dtype=torch.float64).triu(1)
    return into_bins(summed, window_tokens)


def count_by_position(
    counted: Bool[Tensor, "batch token"], window_tokens: int
) -> Float[Tensor, "position position"]:
    """How many pairs i < j of a batch fell on each two positions: sum / count is the mean."""
    both = (counted[:, :, None] & counted[:, None, :]).sum(0, dtype=torch.float64).triu(1)
    return into_bins(both[None], window_tokens)[0]


def into_bins(
    matrix: Float[Tensor, "head token token"], window_tokens: int
) -> Float[Tensor, "head position position"]:
    """The matrix with its rows and columns summed into bins of positions."""
    n, bins = matrix.shape[-1], position_bins(window_tokens)
    if window_tokens == bins:
        return torch.nn.functional.pad(matrix, (0, bins - n, 0, bins - n))
    bin_of = torch.arange(n, device=matrix.device) * bins // window_tokens
    member = torch.nn.functional.one_hot(bin_of, bins).to(matrix.dtype)
    return torch.einsum("hij,ip,jq->hpq", matrix, member, member)
