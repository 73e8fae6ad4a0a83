"""High-similarity pairs: which tokens a head binds together, and which token they gather around."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.settings import PairRule


@dataclass(frozen=True, slots=True)
class Pairs:
    """The chosen pairs of all heads and texts of a batch as one list, i < j."""

    text: Int[Tensor, " pair"]
    head: Int[Tensor, " pair"]
    i: Int[Tensor, " pair"]
    j: Int[Tensor, " pair"]
    texts: int
    heads: int
    tokens: int

    @property
    def distance(self) -> Int[Tensor, " pair"]:
        """j - i, in tokens."""
        return self.j - self.i

    def count(self, weight: Tensor | None = None) -> Float[Tensor, "batch head"]:
        """Number of pairs per text and head, or the sum of a weight over them."""
        row = self.text * self.heads + self.head
        weights = None if weight is None else weight.double()
        counts = torch.bincount(row, weights=weights, minlength=self.texts * self.heads)
        return counts.view(self.texts, self.heads).double()

    def of(self, matrix: Bool[Tensor, "batch token token"]) -> Bool[Tensor, " pair"]:
        """The entry of a pair-wise label for every pair."""
        return matrix[self.text, self.i, self.j]


def choose_pairs(
    similarity: Float[Tensor, "batch head token token"],
    counted: Bool[Tensor, "batch token"],
    rule: PairRule,
) -> Pairs:
    """The high-similarity pairs of counted tokens by a rule.

    `top` takes ceil(share * pairs) of a text, and whatever ties with the last of them. `max` takes
    what reaches a fraction of the largest similarity; where that is not positive, nothing.
    """
    texts, heads, n, _ = similarity.shape
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
    text, head, i, j = chosen.nonzero(as_tuple=True)
    return Pairs(text, head, i, j, texts=texts, heads=heads, tokens=n)


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
    """The focal token of every text and head of a layer."""

    place: Int[Tensor, "batch head"]
    """Where it first occurs in the text; -1 where a head has no pairs."""
    elements: Float[Tensor, "batch head"]
    """How many of the elements of the head's pairs (two a pair) are this token."""


def focal_tokens(pairs: Pairs, first: Int[Tensor, "batch token"]) -> FocalTokens:
    """The token that occurs most among the elements of a head's pairs, for each text.

    `first` gives each token the place of its first occurrence: occurrences at several places count
    together. Of tokens that occur equally often the one that comes first in the text is taken.
    """
    row = (pairs.text * pairs.heads + pairs.head) * pairs.tokens
    elements = torch.cat([row + first[pairs.text, pairs.i], row + first[pairs.text, pairs.j]])
    counts = torch.bincount(elements, minlength=pairs.texts * pairs.heads * pairs.tokens)
    counts = counts.view(pairs.texts, pairs.heads, pairs.tokens)
    # argmax promises no order among equals: let earlier places weigh a little more.
    order = torch.arange(pairs.tokens, 0, -1, device=counts.device)
    place = (counts * (pairs.tokens + 1) + order).argmax(-1)
    most = counts.amax(-1)
    return FocalTokens(place.masked_fill(most == 0, -1), most.double())


def exclusiveness(place: Int[Tensor, "*axes head"]) -> Float[Tensor, "*axes head"]:
    """1 / the number of heads of the layer with the same focal token; 0 for heads without one.

    Over the heads of a layer it adds up to the number of distinct focal tokens.
    """
    alike = (place[..., :, None] == place[..., None, :]).sum(-1).double()
    return torch.where(place >= 0, 1 / alike, 0.0)
