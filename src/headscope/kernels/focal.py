"""The focal token of a head: the one that its pairs gather around."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.kernels.pairs import Pairs


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
