"""Signal and noise: how similar related tokens are, compared with unrelated ones as far apart.

Given the labels of a window and of another document at the same positions; gives sums of the
centred cosine (n, Σc, Σc²) over related and unrelated pairs, by relation and by distance. Sums add
up over windows. What is made of them is in `headscope.measures.signal`.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from headscope.kernels.similarity import mean_vector
from headscope.measures.signal import LABELS, RELATIONS, SIDES, distance_bins

_SHORTEST = 1e-20


@dataclass(frozen=True, slots=True)
class PairLabels:
    """What is known of the tokens of one window; -1 where nothing is."""

    token: Int[Tensor, " token"]
    word: Int[Tensor, " token"]
    form: Int[Tensor, " token"]
    lemma: Int[Tensor, " token"]
    sentence: Int[Tensor, " token"]
    governor: Int[Tensor, " token"]
    """The word that governs the token's word; its own word at a root."""


@dataclass(frozen=True, slots=True)
class PairCells:
    """Which cells the pairs of a window fall into: relation, labels, side and distance."""

    i: Int[Tensor, " pair"]
    j: Int[Tensor, " pair"]
    members: Float[Tensor, "pair cell"]
    """1 where a pair counts in a cell. Cells are those of `cell_shape`, flat."""

    @property
    def counts(self) -> Float64[Tensor, " cell"]:
        """Number of pairs in each cell."""
        return self.members.sum(0, dtype=torch.float64)


def cell_shape(window_tokens: int) -> tuple[int, int, int, int]:
    """Relation, labels (own, swapped), side (related, unrelated), distance.

    Args:
        window_tokens: The length of the longest window.
    """
    return len(RELATIONS), len(LABELS), len(SIDES), distance_bins(window_tokens)


def pair_cells(
    own: PairLabels,
    swapped: PairLabels | None,
    counted: Bool[Tensor, " token"],
    bins: int,
) -> PairCells:
    """The cells of all pairs of counted tokens of a window.

    Pieces of one word, words spelled alike and the same token twice count nowhere: an untrained
    model finds those by their embedding. Pairs of one lemma count only for the lemma. With swapped
    labels, pairs must pass under both labels.

    Args:
        own: The labels of the window.
        swapped: Those of another document at the same positions; None without another document.
        counted: The tokens that may form pairs.
        bins: Number of distance bins; bin b holds distances from 2^b to 2^(b+1) - 1.
    """
    places = counted.nonzero()[:, 0]
    first, second = torch.triu_indices(len(places), len(places), offset=1, device=places.device)
    i, j = places[first], places[second]
    # Exact: the exponent of a whole number is that of its largest power of two.
    bin_of = (torch.frexp((j - i).double()).exponent - 1).long()
    inside = torch.nn.functional.one_hot(bin_of, bins).bool()
    cells = []
    possible = {}
    new = _are_different(own, i, j)
    for labels in (own, swapped):
        if labels is not None:
            # Under swapped labels the window's own repetitions do not count either.
            possible[id(labels)] = new if labels is own else new & _are_different(labels, i, j)
    for relation in RELATIONS:
        for labels in (own, swapped):
            if labels is None:
                related = unrelated = torch.zeros_like(i, dtype=torch.bool)
            else:
                related, unrelated = _sides(relation, labels, i, j)
                related &= possible[id(labels)]
                unrelated &= possible[id(labels)]
            cells += [inside & related[:, None], inside & unrelated[:, None]]
    return PairCells(i, j, torch.cat(cells, dim=1).float())


def _are_different(labels: PairLabels, i: Tensor, j: Tensor) -> Tensor:
    """Whether two tokens are of different words, spelled differently, and different tokens."""
    different = (labels.word[i] >= 0) & (labels.word[j] >= 0)
    for group in (labels.word, labels.form, labels.token):
        different &= (group[i] != group[j]) | (group[i] < 0)
    return different


def _sides(relation: str, labels: PairLabels, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor]:
    """Which pairs are related, and which are the unrelated ones to hold them against."""
    first, second = labels.lemma[i], labels.lemma[j]
    one_lemma = (first == second) & (first >= 0)
    if relation == "lemma":
        return one_lemma, ~one_lemma & (first >= 0) & (second >= 0)
    one_sentence = labels.sentence[i] == labels.sentence[j]
    known = (labels.sentence[i] >= 0) & (labels.sentence[j] >= 0) & ~one_lemma
    if relation == "sentence":
        return one_sentence & known, ~one_sentence & known
    # Unrelated within the sentence: an arc must tell more than that it is one sentence.
    known &= (labels.governor[i] >= 0) & (labels.governor[j] >= 0) & one_sentence
    arc = (labels.governor[i] == labels.word[j]) | (labels.governor[j] == labels.word[i])
    return arc & known, ~arc & known


def centred_directions(
    head_output: Float[Tensor, "batch head token d_head"], counted: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch head token d_head"]:
    """Vectors minus their window's mean, at length 1: their dot products are centred cosines.

    Args:
        head_output: Z.
        counted: The tokens whose mean is subtracted.
    """
    vectors = head_output.float() if head_output.dtype != torch.float64 else head_output
    centred = vectors - mean_vector(vectors, counted)
    lengths = centred.square().sum(-1, keepdim=True).sqrt()
    return centred / lengths.clamp_min(_SHORTEST)


def relation_sums(
    directions: Float[Tensor, "head token d_head"], cells: PairCells
) -> tuple[Float64[Tensor, "head cell"], Float64[Tensor, "head cell"]]:
    """Σc and Σc² of every head in every cell, for one window.

    Args:
        directions: From `centred_directions`.
        cells: Of the pairs of the window.
    """
    cosine = directions @ directions.mT
    tokens = cosine.shape[-1]
    pairs = cosine.flatten(1)[:, cells.i * tokens + cells.j]
    # Both in one product: what takes longest is to read the members.
    sums = torch.cat([pairs, pairs.square()]) @ cells.members.to(pairs.dtype)
    heads = len(pairs)
    return sums[:heads].double(), sums[heads:].double()
