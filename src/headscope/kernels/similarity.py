"""The context similarity matrix C = Z Z', with a zero diagonal, and its sums over windows.

Given head outputs, or C; gives C, or its sums over the windows of a batch: by the positions of the
two tokens, and around sentence boundaries.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.kernels.statistics import ALIGNED_TOKENS
from headscope.kernels.window_batch import SENTENCE, WindowBatch
from headscope.settings import SimilarityVariant


def similarity(
    head_output: Float[Tensor, "batch head token d_head"],
    variant: SimilarityVariant,
    counted: Bool[Tensor, "batch token"],
) -> Float[Tensor, "batch head token token"]:
    """Dot products of the vectors that a head writes for the tokens of a window.

    `raw` keeps vector size, as the paper does. `centred` first subtracts the mean vector of the
    `counted` tokens of the window, a direction that dominates the raw similarities of many heads.
    `cosine` divides by the lengths of both vectors. The diagonal is zero in all three.

    Source: arXiv 2512.21956, section 2.

    Args:
        head_output: Z of every window and head.
        variant: `raw`, `centred` or `cosine`.
        counted: The tokens whose mean is subtracted by `centred`.
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
    """The vectors whose dot products are the similarities of a variant.

    Args:
        vectors: What heads wrote.
        variant: `raw`, `centred` or `cosine`.
        counted: The tokens whose mean is subtracted by `centred`.
    """
    if variant == "centred":
        return vectors - mean_vector(vectors, counted)
    if variant == "cosine":
        return torch.nn.functional.normalize(vectors, dim=-1)
    return vectors


def mean_vector(
    vectors: Float[Tensor, "batch head token d_head"], counted: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch head 1 d_head"]:
    """The mean vector of the counted tokens of each window.

    Args:
        vectors: What heads wrote.
        counted: The tokens that are averaged.
    """
    weight = counted.to(vectors.dtype)
    share = weight / weight.sum(-1, keepdim=True).clamp_min(1)
    # As the model wrote them, the heads of a token are adjacent: one product per window.
    batch, heads, _, d_head = vectors.shape
    mean: Tensor = share[:, None] @ vectors.transpose(1, 2).flatten(2)
    return mean.view(batch, 1, heads, d_head).transpose(1, 2)


def vector_lengths(
    vectors: Float[Tensor, "*axes token d_head"],
) -> Float[Tensor, "*axes token"]:
    """The length of each vector; torch's own function is four times slower for small d_head."""
    return vectors.square().sum(-1).sqrt()


def diagonal_share(
    vectors: Float[Tensor, "batch head token d_head"], counted: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch head"]:
    """The share of the diagonal in the sum of squares of Z Z', over counted tokens.

    The sum of squares of all entries of Z Z' equals that of Z' Z, which is smaller: C is not
    needed. 1 / n where all n vectors are equal, 1 where they are orthogonal, NaN where all are 0.

    Args:
        vectors: Whose dot products are the similarities.
        counted: The tokens that may form pairs.
    """
    inside = vectors * counted.to(vectors.dtype)[:, None, :, None]
    diagonal = inside.square().sum(-1).double().square().sum(-1)
    # Window by window, so that no operand has to be copied first.
    gram = torch.stack([torch.bmm(window.mT, window) for window in inside])
    return diagonal / gram.double().square().sum((-2, -1))


MAX_POSITION_BINS = 128
"""Longer windows are summed in this many equal bins, so that memory does not grow with length."""


def position_bins(window_tokens: int) -> int:
    """Number of bins along each side of a summed matrix: one per position up to 128.

    Args:
        window_tokens: The length of the run's windows.
    """
    return min(window_tokens, MAX_POSITION_BINS)


def sum_by_position(
    similarity: Float[Tensor, "batch head token token"],
    counted: Bool[Tensor, "batch token"],
    window_tokens: int,
) -> Float[Tensor, "head position position"]:
    """The sum of C over the windows of a batch, for the pairs i < j of counted tokens.

    Only the upper triangle is filled: C is symmetric. float64, since a corpus adds tens of
    thousands of these.

    Args:
        similarity: C of every window and head.
        counted: The tokens that may form pairs.
        window_tokens: The length of the run's windows.
    """
    both = counted[:, None, :, None] & counted[:, None, None, :]
    summed = similarity.masked_fill(~both, 0).sum(0, dtype=torch.float64).triu(1)
    return into_bins(summed, window_tokens)


def sum_products_by_position(
    vectors: Float[Tensor, "batch head token d_head"],
    counted: Bool[Tensor, "batch token"],
    window_tokens: int,
) -> Float[Tensor, "head position position"]:
    """What `sum_by_position` gives for dot products of vectors, without computing C.

    The vectors of a bin are added up first, since a product of two sums is a sum of products.
    Memory grows with the length of a window, not with its square.

    Args:
        vectors: Whose dot products are summed.
        counted: The tokens that may form pairs.
        window_tokens: The length of the run's windows.
    """
    bins = position_bins(window_tokens)
    inside = vectors * counted.to(vectors.dtype)[:, None, :, None]
    total = inside
    if bins < window_tokens:
        bin_of = bin_of_position(vectors.shape[2], window_tokens).to(vectors.device)
        total = torch.zeros_like(inside[:, :, :1]).repeat(1, 1, bins, 1)
        total.index_add_(2, bin_of, inside)
    across = torch.einsum("bhpd,bhqd->hpq", total, total).double().triu(1)
    if bins < window_tokens:
        squares = inside.square().sum(-1)
        alone = torch.zeros_like(total[..., 0]).index_add_(2, bin_of, squares)
        within = (total.square().sum(-1) - alone).sum(0).double() / 2
        across += torch.diag_embed(within)
    return torch.nn.functional.pad(across, (0, bins - across.shape[-1]) * 2)


def mean_part_by_position(
    vectors: Float[Tensor, "batch head token d_head"], counted: Bool[Tensor, "batch token"]
) -> Float[Tensor, "head token token"]:
    """The sum of raw similarity minus that of centred similarity, by position.

    With the mean m of a window, (x - m)(y - m) = xy - xm - ym + mm: the last three terms need one
    number per position, which is cheaper than products of vectors.

    Args:
        vectors: What heads wrote.
        counted: The tokens that may form pairs.
    """
    mean = mean_vector(vectors, counted)
    along_mean = (vectors * mean).sum(-1) - mean.square().sum(-1) / 2
    inside = counted.to(vectors.dtype)
    one = torch.einsum("bhi,bj->hij", along_mean * inside[:, None], inside)
    return (one + one.mT).triu_(1)


def count_by_position(
    counted: Bool[Tensor, "batch token"], window_tokens: int
) -> Float[Tensor, "position position"]:
    """Number of pairs i < j of a batch at each two positions: sum / count is the mean.

    Args:
        counted: The tokens that may form pairs.
        window_tokens: The length of the run's windows.
    """
    bins = position_bins(window_tokens)
    member = torch.nn.functional.one_hot(bin_of_position(counted.shape[1], window_tokens), bins)
    tokens = counted.double() @ member.to(counted.device).double()
    across = torch.einsum("bp,bq->pq", tokens, tokens).triu(1)
    return across + torch.diag((tokens * (tokens - 1) / 2).sum(0))


def bin_of_position(n: int, window_tokens: int) -> Int[Tensor, " token"]:
    """The bin of each of the first `n` positions of a window.

    Args:
        n: Number of positions.
        window_tokens: The length of the run's windows.
    """
    return torch.arange(n) * position_bins(window_tokens) // window_tokens


def into_bins(
    matrix: Float[Tensor, "head token token"], window_tokens: int
) -> Float[Tensor, "head position position"]:
    """The matrix with its rows and columns summed into bins of positions.

    Args:
        matrix: One sum per two positions.
        window_tokens: The length of the run's windows.
    """
    bins = position_bins(window_tokens)
    if matrix.shape[-1] == bins == window_tokens:
        return matrix
    if bins == window_tokens:
        return torch.nn.functional.pad(matrix, (0, bins - matrix.shape[-1]) * 2)
    bin_of = bin_of_position(matrix.shape[-1], window_tokens).to(matrix.device)
    member = torch.nn.functional.one_hot(bin_of, bins).to(matrix.dtype)
    return torch.einsum("hij,ip,jq->hpq", matrix, member, member)


def sentence_starts(batch: WindowBatch) -> Int[Tensor, "boundary 2"]:
    """Window and place of every token that starts a sentence, the first of each window left out."""
    ids = batch.queries.groups[SENTENCE]
    begins = (ids[:, 1:] != ids[:, :-1]) & (ids[:, 1:] >= 0) & (ids[:, :-1] >= 0)
    starts = torch.nn.functional.pad(begins & batch.counted[:, 1:], (1, 0)).nonzero()
    return starts


def sum_around_boundaries(
    similarity: Float[Tensor, "batch head token token"], batch: WindowBatch
) -> Float[Tensor, "head offset offset"]:
    """The sum of C over all sentence boundaries, row and column counted from the boundary.

    Offset 0 is the first token of the later sentence, so blocks on the diagonal are within a
    sentence, and off-diagonal blocks are across the boundary. Upper triangle only.

    Args:
        similarity: C of every window and head.
        batch: The windows.
    """
    window, rows = _places(batch)
    inside = _counted_at(batch, window, rows)
    rows = rows.clamp(0, similarity.shape[-1] - 1)
    blocks = similarity.permute(0, 2, 3, 1)[
        window[:, None, None], rows[:, :, None], rows[:, None, :]
    ]
    both = (inside[:, :, None] & inside[:, None, :])[..., None]
    return (blocks.double() * both).sum(0).permute(2, 0, 1).triu(1)


def sum_products_around_boundaries(
    vectors: Float[Tensor, "batch head token d_head"], batch: WindowBatch
) -> Float[Tensor, "head offset offset"]:
    """What `sum_around_boundaries` gives for dot products of vectors, without computing C.

    For each offset, the vectors at all boundaries are joined into one long vector.

    Args:
        vectors: Whose dot products are summed.
        batch: The windows.
    """
    window, rows = _places(batch)
    uncounted = (~_counted_at(batch, window, rows)).mT.flatten().nonzero().flatten()
    n = vectors.shape[2]
    places = (window[:, None] * n + rows.clamp(0, n - 1)).mT.flatten()
    sums = []
    for head in range(vectors.shape[1]):
        around = vectors[:, head].flatten(0, 1).index_select(0, places)
        joined = around.index_fill_(0, uncounted, 0).view(2 * ALIGNED_TOKENS, -1)
        sums.append(joined @ joined.mT)
    return torch.stack(sums).double().triu(1)


def count_around_boundaries(batch: WindowBatch) -> Float[Tensor, "offset offset"]:
    """Number of pairs of tokens that each element of `sum_around_boundaries` adds up."""
    window, rows = _places(batch)
    inside = _counted_at(batch, window, rows).double()
    return torch.einsum("bi,bj->ij", inside, inside).triu(1)


def _places(
    batch: WindowBatch,
) -> tuple[Int[Tensor, " boundary"], Int[Tensor, "boundary offset"]]:
    starts = sentence_starts(batch)
    offsets = torch.arange(-ALIGNED_TOKENS, ALIGNED_TOKENS, device=starts.device)
    return starts[:, 0], starts[:, 1, None] + offsets


def _counted_at(
    batch: WindowBatch, window: Int[Tensor, " boundary"], rows: Int[Tensor, "boundary offset"]
) -> Tensor:
    n = batch.counted.shape[1]
    return batch.counted[window[:, None], rows.clamp(0, n - 1)] & (rows >= 0) & (rows < n)
