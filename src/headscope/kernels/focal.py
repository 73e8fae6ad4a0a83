"""The focal token of a head: the one that its pairs gather around."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.kernels.pairs import Pairs


@dataclass(frozen=True, slots=True)
class FocalTokens:
    """The focal token of every text and head of a layer."""

    token_ids: Int[Tensor, "batch head"]
    """Its id in the vocabulary; -1 where a head has no pairs."""
    count: Float[Tensor, "batch head"]
    """How many of the elements of the head's pairs (two a pair) are this token."""
    exclusiveness: Float[Tensor, "batch head"]
    """1 / the number of heads of the layer with this focal token; their sum is the number of
    distinct focal tokens of the layer."""


def focal_tokens(pairs: Pairs, token_ids: Int[Tensor, "batch token"]) -> FocalTokens:
    """The token that occurs most among the elements of a head's pairs, for each text.

    Occurrences of one token at several places count together. Of tokens that occur equally often
    the one that comes first in the text is taken.
    """
    first = _first_occurrence(token_ids)
    row = (pairs.text * pairs.heads + pairs.head) * pairs.tokens
    elements = torch.cat([row + first[pairs.text, pairs.i], row + first[pairs.text, pairs.j]])
    counts = torch.bincount(elements, minlength=pairs.texts * pairs.heads * pairs.tokens)
    counts = counts.view(pairs.texts, pairs.heads, pairs.tokens)
    count, place = counts.max(-1).values, _first_maximum(counts)
    chosen = token_ids.gather(1, place).masked_fill(count == 0, -1)
    alike = (chosen[:, :, None] == chosen[:, None, :]).sum(-1).double()
    exclusiveness = torch.where(chosen >= 0, 1 / alike, 0.0)
    return FocalTokens(chosen, count.double(), exclusiveness)


def _first_occurrence(token_ids: Int[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
    same = token_ids[:, :, None] == token_ids[:, None, :]
    return _first_maximum(same.int())


def _first_maximum(values: Int[Tensor, "... n"]) -> Int[Tensor, "..."]:
    """The first place of the largest value. (argmax promises no order among equals.)"""
    n = values.shape[-1]
    order = torch.arange(n, 0, -1, device=values.device)
    return (values.long() * (n + 1) + order).argmax(-1)
