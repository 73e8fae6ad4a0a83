"""High-similarity pairs: which tokens a head binds together, and which token they gather around."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.settings import PairRule


@dataclass(frozen=True, slots=True)
class Pairs:
    """The chosen pairs of all heads and windows of a batch as one list, i < j."""

    window: Int[Tensor, " pair"]
    head: Int[Tensor, " pair"]
    i: Int[Tensor, " pair"]
    j: Int[Tensor, " pair"]
    windows: int
    heads: int
    tokens: int

    @property
    def distance(self) -> Int[Tensor, " pair"]:
        """j - i, in tokens."""
        return self.j - self.i

    def count(self, weight: Tensor | None = None) -> Float[Tensor, "batch head"]:
        """Number of pairs per window and head, or the sum of a weight over them.

        Args:
            weight: Of each pair; 1 if None.
        """
        row = self.window * self.heads + self.head
        weights = None if weight is None else weight.double()
        counts = torch.bincount(row, weights=weights, minlength=self.windows * self.heads)
        return counts.view(self.windows, self.heads).double()

    def of(self, matrix: Bool[Tensor, "batch token token"]) -> Bool[Tensor, " pair"]:
        """The entry of a pair-wise label for every pair.

        Args:
            matrix: Whether two tokens of a window have the label.
        """
        return matrix[self.window, self.i, self.j]


def choose_pairs(
    similarity: Float[Tensor, "batch head token token"],
    counted: Bool[Tensor, "batch token"],
    rule: PairRule,
) -> Pairs:
    """The high-similarity pairs of counted tokens by a rule.

    `top` takes ceil(share * pairs) of a window, and all that tie with the last of them. `max` takes
    those that reach a fraction of the largest similarity; none where that is not positive.

    Args:
        similarity: C of every window and head.
        counted: The tokens that may form pairs.
        rule: Which pairs count as highly similar.
    """
    windows, heads, n, _ = similarity.shape
    possible = torch.triu(counted[:, :, None] & counted[:, None, :], diagonal=1)
    upper = similarity.masked_fill(~possible[:, None], -torch.inf)
    if rule.kind == "top":
        threshold = _kth_largest(
            upper.flatten(2), [rule.number_taken(n) for n in possible.sum((-2, -1)).tolist()]
        )
    else:
        largest = upper.amax((-2, -1))
        threshold = torch.where(largest > 0, largest * rule.value, torch.inf)
    chosen = (upper >= threshold[:, :, None, None]) & possible[:, None]
    window, head, i, j = chosen.nonzero(as_tuple=True)
    return Pairs(window, head, i, j, windows=windows, heads=heads, tokens=n)


def _kth_largest(
    values: Float[Tensor, "batch head element"], k: list[int]
) -> Float[Tensor, "batch head"]:
    """The k-th largest value of each row; infinity where k is 0."""
    most = max(k, default=0)
    if most == 0:
        return values.new_full(values.shape[:2], torch.inf)
    best = values.topk(most, dim=-1).values
    index = torch.tensor(k, device=values.device).clamp_min(1) - 1
    kth = best.gather(-1, index[:, None, None].expand(-1, values.shape[1], 1))[..., 0]
    none = torch.tensor([n == 0 for n in k], device=values.device)
    return kth.masked_fill(none[:, None], torch.inf)


@dataclass(frozen=True, slots=True)
class FocalTokens:
    """The focal token of every window and head of a layer."""

    place: Int[Tensor, "batch head"]
    """Where it first occurs in the window; -1 where a head has no pairs."""
    elements: Float[Tensor, "batch head"]
    """Number of elements of the head's pairs (two per pair) that are this token."""


def focal_tokens(pairs: Pairs, first: Int[Tensor, "batch token"]) -> FocalTokens:
    """The token that occurs most among the elements of a head's pairs, for each window.

    All occurrences of a token count together. Of tokens that occur equally often, the one that
    comes first in the window is taken.

    Args:
        pairs: The pairs of all heads of a layer.
        first: For each token, the place of its first occurrence in the window.
    """
    row = (pairs.window * pairs.heads + pairs.head) * pairs.tokens
    elements = torch.cat([row + first[pairs.window, pairs.i], row + first[pairs.window, pairs.j]])
    counts = torch.bincount(elements, minlength=pairs.windows * pairs.heads * pairs.tokens)
    counts = counts.view(pairs.windows, pairs.heads, pairs.tokens)
    # argmax promises no order among equals, so earlier places get a little more weight.
    order = torch.arange(pairs.tokens, 0, -1, device=counts.device)
    place = (counts * (pairs.tokens + 1) + order).argmax(-1)
    most = counts.amax(-1)
    return FocalTokens(place.masked_fill(most == 0, -1), most.double())
