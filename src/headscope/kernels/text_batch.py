"""What is known of the tokens of a batch of texts before any head is looked at."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """The labels of the tokens of a padded batch."""

    real: Bool[Tensor, "batch token"]
    """True for tokens, False for padding."""
    special: Bool[Tensor, "batch token"]
    """[CLS], [SEP], <s>, BOS and the like."""
    separator: Bool[Tensor, "batch token"]
    """Tokens that end a sentence: . ! ? and their full-width forms."""
    token_ids: Int[Tensor, "batch token"]
    sentence_ids: Int[Tensor, "batch token"]

    def counted(self, special_tokens: bool) -> Bool[Tensor, "batch token"]:
        """The tokens that may form pairs."""
        return self.real if special_tokens else self.real & ~self.special


@dataclass(frozen=True, slots=True)
class PairBaseline:
    """How the pairs of each text are spread over distance, whatever a head does.

    This is what a head's pairs are compared with: near tokens share a sentence anyway, so a rate
    means something only against the rate of all pairs of the same text at the same distance.
    """

    counted: Bool[Tensor, "batch token"]
    """The tokens that may form pairs."""
    pairs: Float[Tensor, "batch distance"]
    """Number of pairs of counted tokens at each distance."""
    same_sentence: Float[Tensor, "batch distance"]
    """Share of those that lie in one sentence; zero where there are none."""
    same_token: Float[Tensor, "batch distance"]
    """Share of those that are the same token twice; zero where there are none."""


def same_sentence(labels: TokenLabels) -> Bool[Tensor, "batch token token"]:
    """Whether two tokens lie in one sentence. Tokens without a sentence share none."""
    ids = labels.sentence_ids
    return (ids[:, :, None] == ids[:, None, :]) & (ids >= 0)[:, :, None]


def same_token(labels: TokenLabels) -> Bool[Tensor, "batch token token"]:
    """Whether two tokens are occurrences of one token of the vocabulary."""
    return labels.token_ids[:, :, None] == labels.token_ids[:, None, :]


def pair_baseline(labels: TokenLabels, *, special_tokens: bool = False) -> PairBaseline:
    """All pairs of each text by distance, with the rates that distance alone explains."""
    counted = labels.counted(special_tokens)
    possible = torch.triu(counted[:, :, None] & counted[:, None, :], diagonal=1)
    pairs = sum_by_distance(possible)
    return PairBaseline(
        counted=counted,
        pairs=pairs,
        same_sentence=sum_by_distance(possible & same_sentence(labels)) / pairs.clamp_min(1),
        same_token=sum_by_distance(possible & same_token(labels)) / pairs.clamp_min(1),
    )


def sum_by_distance(
    upper: Bool[Tensor, "batch token token"],
) -> Float[Tensor, "batch distance"]:
    """Number of true elements (i, j), j >= i, at each distance j - i, from 0 on."""
    texts, n, _ = upper.shape
    text, i, j = upper.nonzero(as_tuple=True)
    counts = torch.bincount(text * n + (j - i), minlength=texts * n)
    return counts.view(texts, n).double()
