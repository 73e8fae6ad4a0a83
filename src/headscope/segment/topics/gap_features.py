"""The features of each gap between two sentences: similarities of the sentences around it.

There are three similarities, the channels: plain cosines, centred cosines, and shared words.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

_NONE = 1e-9
"""Shorter vectors are rounding errors of zero vectors."""


def unit_vectors(
    vectors: Float64[np.ndarray, "vector number"],
) -> Float64[np.ndarray, "vector number"]:
    """The vectors, each scaled to length 1; zero vectors stay zero.

    >>> unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])

    Args:
        vectors: A row each.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Float64[np.ndarray, "vector number"] = vectors / np.where(
        lengths > _NONE, lengths, np.inf
    )
    return scaled


REACH = 8
"""Number of sentences on each side of a gap that are compared with each other and across it."""
CHANNELS = 3
"""Number of similarities."""

_FIRST, _SECOND = np.triu_indices(2 * REACH, 1)
PAIRS = len(_FIRST)
NUMBERS = CHANNELS * PAIRS + 2 * REACH + 2 * CHANNELS
"""Number of features of a gap: pairs, which sentences exist, and the text as a whole."""

Similarities = Sequence[Float[np.ndarray, "sentence sentence"]]
"""A matrix for each channel. Only entries near the diagonal are used."""


def similarity_channels(
    vectors: Float64[np.ndarray, "sentence output"],
    overlap: Float64[np.ndarray, "sentence sentence"],
) -> Similarities:
    """Plain cosines, cosines of vectors centred over the text, and shared words.

    Args:
        vectors: The vector of each sentence.
        overlap: Their `word_overlap`.
    """
    plain, centred = unit_vectors(vectors), unit_vectors(vectors - vectors.mean(0))
    return plain @ plain.T, centred @ centred.T, overlap


def gap_features(
    similarities: Similarities, usual: Float[Tensor, " channel"], scale: Float[Tensor, " channel"]
) -> Float[Tensor, "gap number"]:
    """The features of each gap of a text, standardised by channel.

    Pairs with a sentence beyond the ends of the text have the usual similarity: 0.

    Args:
        similarities: Of the sentences of the text.
        usual: The mean of each channel over training texts, see `channel_statistics`.
        scale: The standard deviation of each channel.
    """
    n = len(similarities[0])
    gaps = np.arange(1, n)[:, None]
    sentences = gaps - REACH + np.arange(2 * REACH)
    inside = (sentences >= 0) & (sentences < n)
    rows, columns = (sentences.clip(0, n - 1)[:, side] for side in (_FIRST, _SECOND))
    both_inside = inside[:, _FIRST] & inside[:, _SECOND]
    pairs, whole = [], []
    for matrix, mean, deviation in zip(similarities, usual.tolist(), scale.tolist(), strict=True):
        pairs.append(np.where(both_inside, (matrix[rows, columns] - mean) / deviation, 0))
        of_text = (_near_diagonal(matrix) - mean) / deviation
        whole += [of_text.mean(), of_text.std() - 1]
    seen = [*pairs, inside, np.tile(whole, (n - 1, 1))]
    return torch.from_numpy(np.concatenate(seen, axis=1)).float()


def channel_statistics(
    texts: Sequence[Sequence[Float[np.ndarray, "_ _"]]],
) -> tuple[Float[Tensor, " channel"], Float[Tensor, " channel"]]:
    """Mean and standard deviation of each channel, over the pairs that are features of some gap.

    Args:
        texts: The similarities of each text.
    """
    near = np.array(
        [
            np.concatenate([_near_diagonal(similarities[channel]) for similarities in texts])
            for channel in range(CHANNELS)
        ]
    )
    return torch.from_numpy(near.mean(1)).float(), torch.from_numpy(near.std(1)).float()


def _near_diagonal(matrix: Float[np.ndarray, "sentence sentence"]) -> Float[np.ndarray, " pair"]:
    """The similarities of all pairs that are features of some gap."""
    return np.concatenate([np.diagonal(matrix, apart) for apart in range(1, 2 * REACH)])


def reverse_gaps(seen: Float[Tensor, "gap number"]) -> Float[Tensor, "gap number"]:
    """The features of the same text with its sentences in reverse order.

    Args:
        seen: The features of each gap.
    """
    return seen.flip(0)[:, _REVERSED]


def _reversed() -> list[int]:
    """The order of the features after all sentences are reversed."""
    place = {pair: number for number, pair in enumerate(zip(_FIRST, _SECOND, strict=True))}
    last = 2 * REACH - 1
    pairs = [place[last - second, last - first] for first, second in place]
    shown = [channel * PAIRS + pair for channel in range(CHANNELS) for pair in pairs]
    inside = [CHANNELS * PAIRS + sentence for sentence in reversed(range(2 * REACH))]
    return [*shown, *inside, *range(CHANNELS * PAIRS + 2 * REACH, NUMBERS)]


_REVERSED = _reversed()
