"""The context similarity matrix of a head: C = Z Z', with a zero diagonal."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.settings import SimilarityVariant


def similarity(
    head_output: Float[Tensor, "batch head token d_head"],
    variant: SimilarityVariant,
    counted: Bool[Tensor, "batch token"],
) -> Float[Tensor, "batch head token token"]:
    """Scalar products between the vectors that a head writes for the tokens of a text.

    `raw` keeps vector size, as the paper does. `centred` first subtracts the mean vector of the
    `counted` tokens of the text: raw similarities of many heads are ruled by that one direction.
    `cosine` divides by the lengths of both vectors. The diagonal is zero in all three.

    Source: arXiv 2512.21956, section 2.
    """
    vectors = head_output.float() if head_output.dtype != torch.float64 else head_output
    vectors = comparable(vectors, variant, counted)
    product = vectors @ vectors.mT
    product.diagonal(dim1=-2, dim2=-1).zero_()
    return product


def comparable(
    vectors: Float[Tensor, "batch head token d_head"],
    variant: SimilarityVariant,
    counted: Bool[Tensor, "batch token"],
) -> Float[Tensor, "batch head token d_head"]:
    """The vectors whose scalar products are the similarities of a variant."""
    if variant == "centred":
        return vectors - mean_vector(vectors, counted)
    if variant == "cosine":
        return torch.nn.functional.normalize(vectors, dim=-1)
    return vectors


def mean_vector(
    vectors: Float[Tensor, "batch head token d_head"], counted: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch head 1 d_head"]:
    """The mean vector of the counted tokens of each text."""
    weight = counted.to(vectors.dtype)
    share = weight / weight.sum(-1, keepdim=True).clamp_min(1)
    # All heads of a token lie side by side, as the model wrote them: one product for a text.
    batch, heads, _, d_head = vectors.shape
    mean: Tensor = share[:, None] @ vectors.transpose(1, 2).flatten(2)
    return mean.view(batch, 1, heads, d_head).transpose(1, 2)


def vector_lengths(
    vectors: Float[Tensor, "*axes token d_head"],
) -> Float[Tensor, "*axes token"]:
    """The length of each vector; `vector_norm` takes four times as long where d_head is small."""
    return vectors.square().sum(-1).sqrt()
