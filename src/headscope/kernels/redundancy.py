"""Redundancy within a layer or a model: what other heads already say.

Neither number is an order in which heads could be removed: heads that say the same can all be
needed, since what they write adds up.
"""

import torch
from jaxtyping import Float, Float64
from torch import Tensor

_RIDGE = 1e-2
"""Added to every variance, as a share of the mean variance: coordinates may repeat each other."""


def head_cka(vectors: Float[Tensor, "head token d_head"]) -> Float64[Tensor, "head head"]:
    """Debiased linear CKA of every head with every other, for the same tokens.

    The unbiased estimator of HSIC is the inner product of kernels whose diagonal is zero and whose
    rows are centred for that (U-centred), so that one matrix product compares all heads. It equals
    `headscope.kernels.debiased_cka`, which needs less memory for many tokens.

    Source: Song et al. 2012; Székely and Rizzo 2014 for U-centring; arXiv 2502.15104.

    Args:
        vectors: What each head writes for each token; at least four tokens.
    """
    heads, n, _ = vectors.shape
    if n < 4:
        return torch.full((heads, heads), torch.nan, dtype=torch.float64)
    centred = (vectors.double() - vectors.double().mean(1, keepdim=True)).to(vectors.dtype)
    above = torch.triu_indices(n, n, offset=1)
    flat = torch.empty(heads, above.shape[1], dtype=vectors.dtype)
    for head, own in enumerate(centred):
        kernel = (own @ own.T).double()
        kernel.fill_diagonal_(0)
        rows = kernel.sum(1) / (n - 2)
        kernel -= rows[:, None] + rows[None] - kernel.sum() / ((n - 1) * (n - 2))
        flat[head] = kernel[above[0], above[1]].to(vectors.dtype)
    inner = (flat @ flat.T).double()
    own = inner.diagonal().clamp_min(0).sqrt()
    scale = own.outer(own)
    return inner / torch.where(scale > 0, scale, torch.nan)


def reconstruction(
    fitted: Float64[Tensor, "width width"],
    judged: Float64[Tensor, "width width"],
    root: Float64[Tensor, "head d_head d_head"],
) -> Float64[Tensor, " head"]:
    """R² of each head's write as a linear function of all other heads of its layer.

    Fitted on the covariance of some documents, judged on that of others, so that it can be below 0.
    NaN for a head that writes the same vector for every token.

    Args:
        fitted: Covariance of all heads joined, to fit on.
        judged: The same, of other documents.
        root: S with S S = W_O W_O', for each head: errors count as they are written.
    """
    heads, d_head, _ = root.shape
    width = heads * d_head
    ridge = _RIDGE * fitted.diagonal().mean().clamp_min(1e-30)
    precision = torch.linalg.inv(fitted + ridge * torch.eye(width, dtype=torch.float64))
    explained = torch.empty(heads, dtype=torch.float64)
    for head in range(heads):
        part = slice(head * d_head, (head + 1) * d_head)
        # z_h minus its prediction from the others is P_hh^-1 P_h z, with P the inverse covariance.
        left_over = torch.linalg.solve(precision[part, part], precision[part])
        error = left_over @ judged @ left_over.T
        shape = root[head]
        total = torch.trace(shape @ judged[part, part] @ shape)
        explained[head] = 1 - torch.trace(shape @ error @ shape) / torch.where(
            total > 0, total, torch.nan
        )
    return explained
