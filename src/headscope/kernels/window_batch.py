"""A batch of windows as one stack reads it, with everything that does not depend on a head.

Given token labels as padded tensors; gives the pairs expected at each distance, and where each
token first occurs.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

GROUPS = ("sentence", "token", "word", "lemma")
"""The ways in which two tokens of a window may belong together."""

SENTENCE, TOKEN, WORD, LEMMA = range(len(GROUPS))

_FEW_TOKENS = 1024
"""Batches of up to this number are counted without compiled loops, which take longer to load."""


@dataclass(frozen=True, slots=True)
class TokenLabels:
    """The labels of the tokens of a padded batch."""

    real: Bool[Tensor, "batch token"]
    """True for tokens, False for padding."""
    special: Bool[Tensor, "batch token"]
    """[CLS], [SEP], <s>, BOS and the like."""
    special_separator: Bool[Tensor, "batch token"]
    """Those special tokens that end or separate texts: [SEP], </s>."""
    separator: Bool[Tensor, "batch token"]
    """Tokens that end a sentence: . ! ? and their full-width forms."""
    token_ids: Int[Tensor, "batch token"]
    kinds: Int[Tensor, "batch token"]
    """The `TokenKind` of each token."""
    groups: Int[Tensor, "group batch token"]
    """For each of `GROUPS` an id: two tokens belong together where it is equal and not negative."""

    def counted(self, special_tokens: bool) -> Bool[Tensor, "batch token"]:
        """The tokens that may form pairs.

        Args:
            special_tokens: Whether special tokens may form pairs.
        """
        return self.real if special_tokens else self.real & ~self.special


def together(
    groups: Int[Tensor, "group batch token"],
) -> Bool[Tensor, "group batch token token"]:
    """Whether two tokens belong together, in each way.

    Args:
        groups: Ids, equal where two tokens belong together; -1 for none.
    """
    return (groups[..., :, None] == groups[..., None, :]) & (groups >= 0)[..., :, None]


@dataclass(frozen=True, slots=True)
class PairBaseline:
    """How all pairs of each window are distributed over distance, for any head.

    A head's pairs are compared with this: near tokens share a sentence anyway, so a rate means
    something only against the rate of all pairs of the same window at the same distance.
    """

    pairs: Float[Tensor, "batch distance"]
    """Number of pairs of counted tokens at each distance."""
    rates: Float[Tensor, "group batch distance"]
    """Share of those that belong together, in each way; zero where there are no pairs."""

    @property
    def mean_distance(self) -> Float[Tensor, " batch"]:
        """Mean distance of all pairs of a window, which random pairs have too; 0 without pairs."""
        distances = torch.arange(self.pairs.shape[1], device=self.pairs.device)
        return (self.pairs * distances).sum(-1) / self.pairs.sum(-1).clamp_min(1)


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """The windows of a batch as a stack of attention reads them.

    `queries` labels the tokens that the heads write for, `keys` those that they read; the two
    differ only in cross attention.
    """

    queries: TokenLabels
    keys: TokenLabels
    counted: Bool[Tensor, "batch token"]
    """The query tokens that may form pairs."""
    baseline: PairBaseline
    first: Int[Tensor, "batch token"]
    """For each token the place of the first occurrence of the same token in its window."""
    permuted_sentences: Int[Tensor, "batch token permutation"]
    """Sentence ids with the sentences in random order, their lengths kept; -1 for other tokens."""

    @property
    def cross(self) -> bool:
        """Whether the tokens that are read differ from those written for."""
        return self.queries is not self.keys


def pair_baseline(labels: TokenLabels, counted: Bool[Tensor, "batch token"]) -> PairBaseline:
    """All pairs of each window by distance, with the rates that distance alone explains.

    Args:
        labels: Of the tokens that heads write for.
        counted: The tokens that may form pairs.
    """
    pairs, together = np.zeros(counted.shape), np.zeros(labels.groups.shape)
    groups = labels.groups.contiguous().cpu().numpy()
    _count_by_distance(counted.contiguous().cpu().numpy(), groups, pairs, together)
    return PairBaseline(
        pairs=torch.from_numpy(pairs).to(counted.device),
        rates=torch.from_numpy(together / np.maximum(pairs, 1)).to(counted.device),
    )


def _count_by_distance(
    counted: Bool[np.ndarray, "batch token"],
    groups: Int[np.ndarray, "group batch token"],
    pairs: Float[np.ndarray, "batch distance"],
    together: Float[np.ndarray, "group batch distance"],
) -> None:
    """Count all pairs of counted tokens by distance, and those that belong together."""
    if counted.size > _FEW_TOKENS:
        from headscope.kernels.cpu.jit.count_pairs import count_by_distance

        count_by_distance(counted, groups, pairs, together)
        return
    for distance in range(1, counted.shape[1]):
        both = counted[:, :-distance] & counted[:, distance:]
        one, other = groups[..., :-distance], groups[..., distance:]
        pairs[:, distance] = both.sum(axis=-1)
        together[..., distance] = (both & (one == other) & (one >= 0)).sum(axis=-1)


def first_occurrence(token_ids: Int[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
    """For each token, the first place in its window that has the same token.

    Args:
        token_ids: Of each window.
    """
    # Sorting brings equal tokens together, in the order of their places.
    ordered, places = token_ids.sort(dim=-1, stable=True)
    begins = torch.ones_like(ordered, dtype=torch.bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    index = torch.arange(ordered.shape[1], device=ordered.device)
    begin_of = torch.where(begins, index, 0).cummax(dim=-1).values
    return torch.empty_like(places).scatter_(1, places, places.gather(1, begin_of))
