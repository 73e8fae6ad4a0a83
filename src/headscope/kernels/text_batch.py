"""A batch of texts as one stack reads it, with all that does not depend on a head."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.kernels.labels import TokenLabels, together


@dataclass(frozen=True, slots=True)
class PairBaseline:
    """How the pairs of each text are spread over distance, whatever a head does.

    This is what a head's pairs are compared with: near tokens share a sentence anyway, so a rate
    means something only against the rate of all pairs of the same text at the same distance.
    """

    pairs: Float[Tensor, "batch distance"]
    """Number of pairs of counted tokens at each distance."""
    rates: Float[Tensor, "group batch distance"]
    """Share of those that belong together, in each way; zero where there are no pairs."""

    @property
    def mean_distance(self) -> Float[Tensor, " batch"]:
        """Mean distance of all pairs of a text: what blind choice gives; 0 without pairs."""
        distances = torch.arange(self.pairs.shape[1], device=self.pairs.device)
        return (self.pairs * distances).sum(-1) / self.pairs.sum(-1).clamp_min(1)


@dataclass(frozen=True, slots=True)
class TextBatch:
    """The texts of a batch as a stack of attention reads them.

    `queries` labels the tokens that the heads write for, `keys` those that they read; the two
    differ in cross attention only.
    """

    queries: TokenLabels
    keys: TokenLabels
    counted: Bool[Tensor, "batch token"]
    """The query tokens that may form pairs."""
    baseline: PairBaseline
    first: Int[Tensor, "batch token"]
    """For each token the place of the first occurrence of the same token in its text."""
    permuted_sentences: Int[Tensor, "batch token permutation"]
    """Sentence ids in random order of the sentences, lengths kept; -1 outside."""
    permuted_tokens: Int[Tensor, "batch token permutation"]
    """Token identities dealt out anew within classes of equal frequency; -1 outside."""

    @property
    def cross(self) -> bool:
        """Whether the tokens read are others than those written for."""
        return self.queries is not self.keys


def pair_baseline(labels: TokenLabels, counted: Bool[Tensor, "batch token"]) -> PairBaseline:
    """All pairs of each text by distance, with the rates that distance alone explains."""
    possible = torch.triu(counted[:, :, None] & counted[:, None, :], diagonal=1)
    pairs = count_by_distance(possible[None])[0]
    return PairBaseline(
        pairs=pairs,
        rates=count_by_distance(possible & together(labels.groups)) / pairs.clamp_min(1),
    )


def first_occurrence(token_ids: Int[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
    """For each token the first place in its text with the same token."""
    same = token_ids[:, :, None] == token_ids[:, None, :]
    # argmax promises no order among equals: let earlier places weigh more.
    weight = torch.arange(same.shape[-1], 0, -1, device=same.device)
    return (same * weight).argmax(-1)


def count_by_distance(
    upper: Bool[Tensor, "group batch token token"],
) -> Float[Tensor, "group batch distance"]:
    """Number of true elements (i, j), j >= i, at each distance j - i, from 0 on."""
    groups, texts, n, _ = upper.shape
    group, text, i, j = upper.nonzero(as_tuple=True)
    counts = torch.bincount((group * texts + text) * n + (j - i), minlength=groups * texts * n)
    return counts.view(groups, texts, n).double()
