"""Similarity summed over texts around sentence boundaries."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.kernels.labels import SENTENCE
from headscope.kernels.statistics import ALIGNED_TOKENS
from headscope.kernels.text_batch import TextBatch


def sentence_starts(batch: TextBatch) -> Int[Tensor, "boundary 2"]:
    """Text and place of every token that begins a sentence after another one in its window."""
    ids = batch.queries.groups[SENTENCE]
    begins = (ids[:, 1:] != ids[:, :-1]) & (ids[:, 1:] >= 0) & (ids[:, :-1] >= 0)
    starts = torch.nn.functional.pad(begins & batch.counted[:, 1:], (1, 0)).nonzero()
    return starts


def sum_around_boundaries(
    similarity: Float[Tensor, "batch head token token"], batch: TextBatch
) -> Float[Tensor, "head offset offset"]:
    """The sum of C over all sentence boundaries, row and column counted from the boundary.

    Offset 0 is the first token of the later sentence; so blocks along the diagonal are within
    sentences, and off-diagonal blocks are across the boundary. Upper triangle only.
    """
    text, rows = _places(batch)
    inside = _counted_at(batch, text, rows)
    rows = rows.clamp(0, similarity.shape[-1] - 1)
    blocks = similarity.permute(0, 2, 3, 1)[text[:, None, None], rows[:, :, None], rows[:, None, :]]
    both = (inside[:, :, None] & inside[:, None, :])[..., None]
    return (blocks.double() * both).sum(0).permute(2, 0, 1).triu(1)


def sum_products_around_boundaries(
    vectors: Float[Tensor, "batch head token d_head"], batch: TextBatch
) -> Float[Tensor, "head offset offset"]:
    """What `sum_around_boundaries` gives for scalar products, without those of far tokens.

    Vectors around all boundaries side by side are one vector for each offset.
    """
    text, rows = _places(batch)
    uncounted = (~_counted_at(batch, text, rows)).mT.flatten().nonzero().flatten()
    n = vectors.shape[2]
    places = (text[:, None] * n + rows.clamp(0, n - 1)).mT.flatten()
    sums = []
    for head in range(vectors.shape[1]):
        around = vectors[:, head].flatten(0, 1).index_select(0, places)
        joined = around.index_fill_(0, uncounted, 0).view(2 * ALIGNED_TOKENS, -1)
        sums.append(joined @ joined.mT)
    return torch.stack(sums).double().triu(1)


def count_around_boundaries(batch: TextBatch) -> Float[Tensor, "offset offset"]:
    """How many pairs of tokens each element of `sum_around_boundaries` adds up."""
    text, rows = _places(batch)
    inside = _counted_at(batch, text, rows).double()
    return torch.einsum("bi,bj->ij", inside, inside).triu(1)


def _places(
    batch: TextBatch,
) -> tuple[Int[Tensor, " boundary"], Int[Tensor, "boundary offset"]]:
    starts = sentence_starts(batch)
    offsets = torch.arange(-ALIGNED_TOKENS, ALIGNED_TOKENS, device=starts.device)
    return starts[:, 0], starts[:, 1, None] + offsets


def _counted_at(
    batch: TextBatch, text: Int[Tensor, " boundary"], rows: Int[Tensor, "boundary offset"]
) -> Tensor:
    n = batch.counted.shape[1]
    return batch.counted[text[:, None], rows.clamp(0, n - 1)] & (rows >= 0) & (rows < n)
