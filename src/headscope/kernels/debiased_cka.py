"""Debiased linear CKA: how similarly two heads distinguish tokens.

CKA compares two sets of vectors for the same tokens by the similarities within each set, so that
neither rotation, scale nor width of a set matters. The plain estimate is positive even for
unrelated vectors, and more so the wider they are. The unbiased estimator of HSIC leaves out the
similarity of a token with itself, and is zero on average for unrelated vectors (so it can be
slightly negative).

Source: Song et al. 2012 (equation 5) for HSIC, arXiv 2502.15104 for its use in CKA.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor


@dataclass(frozen=True, eq=False)
class CentredHeads:
    """The vectors of some heads minus their means, and the terms of CKA that need one head only."""

    vectors: Float[Tensor, "token head d_head"]
    lengths: Float64[Tensor, "token head"]
    """Squared lengths: the diagonals of the kernels."""
    own: Float64[Tensor, " head"]
    """HSIC of each head with itself."""

    @classmethod
    def of(cls, vectors: Float[Tensor, "token head d_head"]) -> "CentredHeads":
        """The vectors of some heads, centred over the tokens.

        Args:
            vectors: What each head writes for each token.
        """
        # In double precision: a large mean vector would swamp small differences.
        exact = vectors.double()
        exact = exact - exact.mean(0)
        lengths = exact.square().sum(2)
        centred = exact.to(vectors.dtype)
        own = [
            _hsic(_trace(head, head), column, column)[0]
            for head, column in zip(
                torch.split(centred, 1, dim=1), torch.split(lengths, 1, dim=1), strict=True
            )
        ]
        return cls(centred, lengths, torch.cat(own))


def debiased_cka(one: CentredHeads, other: CentredHeads) -> Float64[Tensor, "head other_head"]:
    """The CKA of every head with every other: 1 if equal up to rotation, about 0 if unrelated.

    NaN where a head writes the same vector for all tokens, or there are fewer than four tokens.

    >>> heads = CentredHeads.of(torch.eye(5).reshape(5, 1, 5))
    >>> debiased_cka(heads, heads)
    tensor([[1.]], dtype=torch.float64)

    Args:
        one: The heads of one model.
        other: Those of the other, for the same tokens.
    """
    hsic = _hsic(_trace(one.vectors, other.vectors), one.lengths, other.lengths)
    scale = one.own.outer(other.own).clamp(min=0).sqrt()
    return hsic / torch.where(scale > 0, scale, torch.nan)


def _trace(
    one: Float[Tensor, "token head d_head"], other: Float[Tensor, "token other_head other_d_head"]
) -> Float64[Tensor, "head other_head"]:
    """The trace of the product of two linear kernels, without a matrix of tokens by tokens."""
    crossed = torch.einsum("nhd,nge->hgde", one, other)
    return crossed.double().square().sum(dim=(2, 3))


def _hsic(
    trace: Float64[Tensor, "head other_head"],
    lengths: Float64[Tensor, "token head"],
    other_lengths: Float64[Tensor, "token other_head"],
) -> Float64[Tensor, "head other_head"]:
    """Song's estimator from the trace and the diagonals of the kernels of centred vectors.

    The kernels K and L have their diagonals set to zero. The rows of a centred kernel add up to 0,
    so a row of K adds up to minus its diagonal, and every term is a sum over tokens.
    """
    n = len(lengths)
    if n < 4:
        return torch.full_like(trace, torch.nan)
    diagonals = lengths.T @ other_lengths  # 1'KL1, and what the diagonals added to the trace
    sums = lengths.sum(0).outer(other_lengths.sum(0))  # 1'K1 times 1'L1
    inner = trace - diagonals + sums / ((n - 1) * (n - 2)) - 2 / (n - 2) * diagonals
    return inner / (n * (n - 3))
