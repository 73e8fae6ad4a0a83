"""The scalar products of the vectors of short texts, as the compiled pass takes them."""

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.compiled.products import Products, even_bands


def products_of(
    vectors: Float[Tensor, "batch head token d_head"], room: Float[Tensor, " number"]
) -> Products:
    """All products of what heads wrote for the same text, on and above the diagonal.

    They are written to `room`.
    """
    n_texts, heads, n, _ = vectors.shape
    rows = even_bands(n)
    # One text at a time, or one head of all texts: then no operand has to be copied first.
    heads_first = rows == n and heads < n_texts
    end = 0
    for operand in vectors.transpose(0, 1) if heads_first else vectors:
        for row in range(0, n, rows):
            one, other = operand[:, row : row + rows], operand[:, row:]
            begin, end = end, end + one.shape[0] * one.shape[1] * other.shape[1]
            out = room[begin:end].view(*one.shape[:2], other.shape[1])
            torch.bmm(one, other.mT, out=out)
    return Products(room[:end].numpy(), n_texts, heads, n, rows, heads_first)
