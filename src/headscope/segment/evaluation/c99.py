"""C99, the topic segmenter of Choi (2000), as a baseline.

Sentences are bags of stemmed content words. Each cosine similarity is replaced by its rank among
its neighbours in the matrix, and the text is divided where that leaves the densest blocks, until
the gain drops.
"""

import itertools
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64
from scipy.ndimage import generic_filter

from headscope.text.kinds import TokenKind, kind_of_word

_RANK_SIZE = 11
_DEVIATIONS = 1.2
"""Both as in the paper: the mask is 11 x 11, and a gain counts if it is 1.2 standard deviations
above the mean."""

_WORD = re.compile(r"[a-z]+")
_SUFFIX = re.compile(r"(?:ing|edly|ed|ly|es|s)\Z")


def c99(sentences: Sequence[str], n_segments: int | None = None) -> list[int]:
    """The sentences at which a new topic begins, without the first.

    Args:
        sentences: The text, sentence by sentence.
        n_segments: The number of topics; None to find it.
    """
    n = len(sentences)
    if n < 2 or n_segments == 1:
        return []
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = _ranks(_similarities(sentences)).cumsum(0).cumsum(1)
    most = min(n_segments or n, n)
    cuts, densities = _divide(sums, most)
    if n_segments is None:
        gains = np.diff(densities)
        if not len(gains):
            return []
        wanted = gains > gains.mean() + _DEVIATIONS * gains.std()
        cuts = cuts[: int(np.flatnonzero(wanted)[-1]) + 1 if wanted.any() else 0]
    return sorted(cuts)


def _similarities(sentences: Sequence[str]) -> Float64[np.ndarray, "sentence sentence"]:
    bags = [Counter(_stems(sentence)) for sentence in sentences]
    vocabulary = {word: place for place, word in enumerate({w for bag in bags for w in bag})}
    counts = np.zeros((len(bags), max(len(vocabulary), 1)))
    for row, bag in zip(counts, bags, strict=True):
        for word, count in bag.items():
            row[vocabulary[word]] = count
    lengths = np.linalg.norm(counts, axis=1)
    products: Float64[np.ndarray, "sentence sentence"] = counts @ counts.T
    return products / np.maximum(np.outer(lengths, lengths), 1e-9)


def _stems(sentence: str) -> list[str]:
    return [
        _SUFFIX.sub("", word) if len(word) > 4 else word
        for word in _WORD.findall(sentence.lower())
        if kind_of_word(word, starts_sentence=True) != TokenKind.FUNCTION
    ]


def _ranks(
    similarities: Float64[np.ndarray, "sentence sentence"],
) -> Float64[np.ndarray, "sentence sentence"]:
    """The share of the neighbours in the mask that are less similar."""

    def rank(mask: np.ndarray) -> float:
        here = mask[len(mask) // 2]
        inside = ~np.isnan(mask)
        return float((mask[inside] < here).sum() / max(inside.sum() - 1, 1))

    ranks: Float64[np.ndarray, "sentence sentence"] = generic_filter(
        similarities, rank, size=_RANK_SIZE, mode="constant", cval=np.nan
    )
    return ranks


def _divide(sums: np.ndarray, most: int) -> tuple[list[int], list[float]]:
    """Cuts in the order in which they are made, and the density of the blocks before and after."""
    n = len(sums) - 1

    def block(first: int, end: int) -> float:
        total = sums[end, end] - sums[first, end] - sums[end, first]
        return float(total + sums[first, first])

    edges = [0, n]
    cuts: list[int] = []
    weight, area = block(0, n), float(n * n)
    densities = [weight / area]
    while len(edges) - 1 < most:
        best: tuple[float, int, float, float] | None = None
        for first, end in itertools.pairwise(edges):
            whole, size = block(first, end), (end - first) ** 2
            for cut in range(first + 1, end):
                w = weight - whole + block(first, cut) + block(cut, end)
                a = area - size + (cut - first) ** 2 + (end - cut) ** 2
                if best is None or w / a > best[0]:
                    best = (w / a, cut, w, a)
        if best is None:
            break
        density, cut, weight, area = best
        cuts.append(cut)
        edges = sorted([*edges, cut])
        densities.append(density)
    return cuts, densities
