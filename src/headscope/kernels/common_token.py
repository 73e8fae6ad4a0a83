"""The common token of a head in a window: the one that most of its pairs contain.

Pairs of one token with itself are set aside: they are repetition. Given the pairs; gives the token,
how many pairs contain it, and how many of those join it to a token in its context, with what each
number would be if pairs were drawn at random.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.kernels.pairs import Pairs
from headscope.kernels.token_rows import Rows
from headscope.kernels.window_batch import WindowBatch

CONTEXT_TOKENS = 5
"""A token lies in the context of another one if it is at most this far from an occurrence of it.

The compiled form has the same number, so that this one can be had without compiled code."""


@dataclass(frozen=True, slots=True)
class CommonTokens:
    """The common token of every window and head."""

    place: Int[Tensor, "batch head"]
    """Where it first occurs in the window; -1 where no pair joins two different tokens."""
    pairs: Float[Tensor, "batch head"]
    """Number of pairs of it with another token."""
    context_pairs: Float[Tensor, "batch head"]
    """Those whose other element lies in its context."""


def common_tokens(pairs: Pairs, batch: WindowBatch) -> CommonTokens:
    """The token that is in the most pairs of two different tokens, for each window and head.

    All occurrences of a token count together. Of tokens in equally many pairs, the one that comes
    first in the window is taken. The context of a token is what lies within `CONTEXT_TOKENS` of any
    of its occurrences.

    Args:
        pairs: The pairs of all heads of a layer.
        batch: The windows.
    """
    n = pairs.tokens
    one, other = batch.first[pairs.window, pairs.i], batch.first[pairs.window, pairs.j]
    occurs = torch.nn.functional.one_hot(batch.first, n) * batch.counted[:, :, None]
    near = torch.nn.functional.max_pool1d(
        occurs.mT.float(), 2 * CONTEXT_TOKENS + 1, stride=1, padding=CONTEXT_TOKENS
    )  # batch, token by its first place, place
    row = (pairs.window * pairs.heads + pairs.head) * n
    elements = torch.cat([row + one, row + other])
    in_context = torch.cat([near[pairs.window, one, pairs.j], near[pairs.window, other, pairs.i]])
    distinct = (one != other).double().repeat(2)

    def counted(weights: Float[Tensor, " element"]) -> Float[Tensor, "batch head token"]:
        counts = torch.bincount(elements, weights, minlength=pairs.windows * pairs.heads * n)
        # Of no pairs at all, bincount gives whole numbers.
        return counts.view(pairs.windows, pairs.heads, n).double()

    number, number_near = counted(distinct), counted(distinct * in_context)
    # argmax promises no order among equals, so earlier places get a little more weight.
    order = torch.arange(n, 0, -1, device=number.device)
    place = (number * (n + 1) + order).argmax(-1)
    most = number.amax(-1)
    return CommonTokens(
        place=place.masked_fill(most == 0, -1),
        pairs=most,
        context_pairs=number_near.gather(-1, place[..., None])[..., 0],
    )


def common_rows(
    common: CommonTokens, distinct_pairs: Float[Tensor, "batch head"], batch: WindowBatch
) -> Rows:
    """Which token is common, how frequent it is, and how many pairs chance would give it.

    Args:
        common: The common tokens.
        distinct_pairs: Number of pairs of two different tokens.
        batch: The windows.
    """
    there, place = common.place >= 0, common.place.clamp_min(0)
    inside = batch.counted.double()
    tokens = inside.sum(-1, keepdim=True)
    occurrences = torch.zeros_like(inside).scatter_add_(1, batch.first, inside)
    own = occurrences.gather(1, place)
    others = tokens - own
    different = (tokens.square() - occurrences.square().sum(-1, keepdim=True)) / 2
    rank = 1 + (occurrences[:, None] > own[..., None]).sum(-1)
    near = _context_sizes(batch).gather(1, place) / others.clamp_min(1)
    return {
        "distinct_pairs": distinct_pairs,
        "common_token": batch.queries.token_ids.gather(1, place).masked_fill(~there, -1).double(),
        "common_texts": there.double(),
        "common_rank": rank.double() * there,
        "common_pairs": common.pairs,
        "common_expected": distinct_pairs * own * others / different.clamp_min(1),
        "common_context_pairs": common.context_pairs,
        "common_context_expected": common.pairs * near,
    }


def _context_sizes(batch: WindowBatch) -> Float[Tensor, "batch token"]:
    """For each token, at its first place: the number of other tokens that lie in its context."""
    batches, n = batch.first.shape
    places = batch.first.masked_fill(~batch.counted, n)
    padded = torch.nn.functional.pad(places, (CONTEXT_TOKENS, CONTEXT_TOKENS), value=n)
    # batch, place, what is around it: equal tokens come together, and each counts once.
    around = padded.unfold(-1, 2 * CONTEXT_TOKENS + 1, 1).sort(-1).values
    others = (around != places[..., None]) & batch.counted[..., None]
    others[..., 1:] &= around[..., 1:] != around[..., :-1]
    sizes = torch.zeros((batches, n + 1), dtype=torch.float64, device=around.device)
    return sizes.scatter_add_(1, around.flatten(1), others.flatten(1).double())[:, :n]
