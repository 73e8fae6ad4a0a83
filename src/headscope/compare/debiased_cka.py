"""Debiased linear CKA: how far two heads tell tokens apart in the same way.

CKA compares two sets of vectors for the same tokens by the similarities among them, so that
neither a rotation nor the scale of either set matters, nor their widths. The plain estimate is
positive even for unrelated vectors, the more so the wider they are. The unbiased estimator of HSIC
leaves the similarity of a token with itself out, and is zero on average for unrelated vectors (so
it can be a little below zero).

Source: Song et al. 2012 (equation 5) for HSIC, arXiv 2502.15104 for its use in CKA.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64
from torch import Tensor


@dataclass(frozen=True, eq=False)
class CentredHeads:
    """The vectors of some heads less their means, with what CKA asks of each head alone."""

    vectors: Float[Tensor, "token head d_head"]
    lengths: Float64[Tensor, "token head"]
    """Squared lengths: the diagonals of the kernels."""
    own: Float64[Tensor, " head"]
    """HSIC of each head with itself."""

    @classmethod
    def of(cls, vectors: Float[Tensor, "token head d_head"]) -> "CentredHeads":
        """Centre the vectors of some heads over the tokens."""
        # In double precision: heads with a large mean vector would lose their small differences.
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
    """The CKA of every head with every other one: 1 up to rotation, about 0 for unrelated heads.

    NaN where a head writes the same vector for all tokens, or there are fewer than four tokens.
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

    It is about the kernels K and L with their diagonals set to zero. Rows of a centred kernel add
    up to 0, so a row of K adds up to minus its diagonal: every term becomes a sum over tokens.
    """
    n = len(lengths)
    if n < 4:
        return torch.full_like(trace, torch.nan)
    diagonals = lengths.T @ other_lengths  # 1'KL1, and what the diagonals added to the trace
    sums = lengths.sum(0).outer(other_lengths.sum(0))  # 1'K1 times 1'L1
    inner = trace - diagonals + sums / ((n - 1) * (n - 2)) - 2 / (n - 2) * diagonals
    return inner / (n * (n - 3))
