"""What can be seen of a text around each gap between two sentences: how alike all of these are."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

_NONE = 1e-9
"""Shorter vectors are what rounding leaves of none."""


def unit_vectors(
    vectors: Float64[np.ndarray, "vector number"],
) -> Float64[np.ndarray, "vector number"]:
    """The vectors, each scaled to length 1; those of no length stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Float64[np.ndarray, "vector number"] = vectors / np.where(
        lengths > _NONE, lengths, np.inf
    )
    return scaled


REACH = 8
"""Sentences on each side of a gap that are compared, with each other and across it."""
CHANNELS = 3
"""Kinds of similarity."""

_FIRST, _SECOND = np.triu_indices(2 * REACH, 1)
PAIRS = len(_FIRST)
NUMBERS = CHANNELS * PAIRS + 2 * REACH + 2 * CHANNELS
"""Numbers that are seen of a gap: pairs, which sentences there are, and the text as a whole."""

Similarities = Sequence[Float[np.ndarray, "sentence sentence"]]
"""A matrix for each channel. Only what is near the diagonal is looked at."""


def similarities(
    vectors: Float64[np.ndarray, "sentence output"],
    overlap: Float64[np.ndarray, "sentence sentence"],
) -> Similarities:
    """Cosines as the model gives them, cosines centred over the text, and shared words."""
    plain, centred = unit_vectors(vectors), unit_vectors(vectors - vectors.mean(0))
    return plain @ plain.T, centred @ centred.T, overlap


def see_gaps(
    alike: Similarities, usual: Float[Tensor, " channel"], scale: Float[Tensor, " channel"]
) -> Float[Tensor, "gap number"]:
    """The numbers of each gap of a text, in units of what is usual in a channel.

    Sentences beyond the ends of the text are as alike as is usual: 0.
    """
    n = len(alike[0])
    gaps = np.arange(1, n)[:, None]
    sentences = gaps - REACH + np.arange(2 * REACH)
    inside = (sentences >= 0) & (sentences < n)
    rows, columns = (sentences.clip(0, n - 1)[:, side] for side in (_FIRST, _SECOND))
    both_inside = inside[:, _FIRST] & inside[:, _SECOND]
    pairs, whole = [], []
    for matrix, mean, deviation in zip(alike, usual.tolist(), scale.tolist(), strict=True):
        pairs.append(np.where(both_inside, (matrix[rows, columns] - mean) / deviation, 0))
        of_text = (_near_diagonal(matrix) - mean) / deviation
        whole += [of_text.mean(), of_text.std() - 1]
    seen = [*pairs, inside, np.tile(whole, (n - 1, 1))]
    return torch.from_numpy(np.concatenate(seen, axis=1)).float()


def usual_similarities(
    texts: Sequence[Sequence[Float[np.ndarray, "_ _"]]],
) -> tuple[Float[Tensor, " channel"], Float[Tensor, " channel"]]:
    """Mean and standard deviation of each channel, over the pairs that gaps of the texts show."""
    near = np.array(
        [
            np.concatenate([_near_diagonal(alike[channel]) for alike in texts])
            for channel in range(CHANNELS)
        ]
    )
    return torch.from_numpy(near.mean(1)).float(), torch.from_numpy(near.std(1)).float()


def _near_diagonal(matrix: Float[np.ndarray, "sentence sentence"]) -> Float[np.ndarray, " pair"]:
    """The similarities of all pairs that can be seen at some gap."""
    return np.concatenate([np.diagonal(matrix, apart) for apart in range(1, 2 * REACH)])


def backwards(seen: Float[Tensor, "gap number"]) -> Float[Tensor, "gap number"]:
    """The gaps of the same text read from its end to its beginning."""
    return seen.flip(0)[:, _BACKWARDS]


def _backwards() -> list[int]:
    place = {pair: number for number, pair in enumerate(zip(_FIRST, _SECOND, strict=True))}
    last = 2 * REACH - 1
    pairs = [place[last - second, last - first] for first, second in place]
    shown = [channel * PAIRS + pair for channel in range(CHANNELS) for pair in pairs]
    inside = [CHANNELS * PAIRS + sentence for sentence in reversed(range(2 * REACH))]
    return [*shown, *inside, *range(CHANNELS * PAIRS + 2 * REACH, NUMBERS)]


_BACKWARDS = _backwards()
