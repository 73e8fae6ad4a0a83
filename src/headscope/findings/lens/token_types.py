"""Accuracy by token type: every type counts alike, however frequent it is.

Of each token type the correct guesses over its occurrences; then the mean over types, in all or by
how frequent they are. Source: arXiv 2509.03407, where it is called average prediction and is the
order parameter of learning.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.sparse import csr_array

from headscope.findings.lens.guesses import Guesses
from headscope.findings.resampling.bootstrap import Interval, draw_documents, interval

BINS: tuple[int, ...] = (1, 2, 10, 100, 1000)
"""Smallest number of occurrences of each bin of frequency."""
_SAMPLES = 400
"""Bootstrap samples: each has a sum for every type and document."""


@dataclass(frozen=True, slots=True)
class FrequencyBin:
    """Token types that are about as frequent, and how well each layer guesses them."""

    at_least: int
    at_most: int | None
    """Occurrences; None without a limit."""
    types: int
    positions: int
    """Number of scored positions at which such a type is the true token."""
    accuracy: tuple[Interval, ...]
    """By layer."""

    @property
    def name(self) -> str:
        """Such as `10 to 99`."""
        if self.at_most is None:
            return f"{self.at_least} or more"
        same = self.at_most == self.at_least
        return str(self.at_least) if same else f"{self.at_least} to {self.at_most}"


@dataclass(frozen=True, slots=True)
class TypeAccuracy:
    """Accuracy with every token type counted alike."""

    types: int
    overall: tuple[Interval, ...]
    """By layer."""
    by_frequency: tuple[FrequencyBin, ...]


def type_accuracy(
    guesses: Guesses, frequencies: Int64[np.ndarray, " token_type"], seed: int
) -> TypeAccuracy:
    """How well each layer guesses token types, with intervals over documents.

    A bootstrap sample of documents has fewer types than all documents have, and it is rare types
    that it lacks: its mean over types is too large. So samples are moved to lie around the value.

    Args:
        guesses: Of one group of positions.
        frequencies: How often each token occurs; all that are scored do.
        seed: Of the bootstrap.
    """
    window, slot = np.nonzero(guesses.scored)
    tokens = guesses.target[window, slot].astype(np.int64)
    kinds, place = np.unique(tokens, return_inverse=True)
    present, document = np.unique(guesses.documents[window], return_inverse=True)
    draws = draw_documents(max(1, len(present)), seed, _SAMPLES)
    weights = np.concatenate([np.ones((1, len(present)), dtype=np.int64), draws.weights])

    def sums(values: Float64[np.ndarray, " position"]) -> Float64[np.ndarray, "sample type"]:
        table = csr_array((values, (document, place)), shape=(len(present), len(kinds)))
        summed: Float64[np.ndarray, "sample type"] = (table.T @ weights.T.astype(np.float64)).T
        return summed

    often = frequencies[kinds]
    masks = [np.ones(len(kinds), dtype=bool), *(_in_bin(often, at) for at in range(len(BINS)))]
    occurrences = sums(np.ones(len(tokens)))
    correct = guesses.correct
    by_mask: list[list[Interval]] = [[] for _ in masks]
    for layer in range(correct.shape[1]):
        right = np.nan_to_num(correct[window, layer, slot])
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracy = sums(right) / occurrences
        for found, mask in zip(by_mask, masks, strict=True):
            found.append(_mean_over_types(accuracy[:, mask], len(present)))
    bins = [
        FrequencyBin(
            low,
            BINS[at + 1] - 1 if at + 1 < len(BINS) else None,
            int(masks[at + 1].sum()),
            int(occurrences[0, masks[at + 1]].sum()),
            tuple(by_mask[at + 1]),
        )
        for at, low in enumerate(BINS)
    ]
    return TypeAccuracy(len(kinds), tuple(by_mask[0]), tuple(one for one in bins if one.types))


def _in_bin(often: Int64[np.ndarray, " type"], at: int) -> Bool[np.ndarray, " type"]:
    below = BINS[at + 1] if at + 1 < len(BINS) else np.inf
    # A token that was written, and not read, may not have been counted.
    return np.asarray((np.maximum(often, 1) >= BINS[at]) & (np.maximum(often, 1) < below))


def _mean_over_types(accuracy: Float64[np.ndarray, "sample type"], documents: int) -> Interval:
    there = np.isfinite(accuracy)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(there, accuracy, 0.0).sum(1) / there.sum(1)
    value, samples = float(means[0]), means[1:]
    usable = samples[np.isfinite(samples)]
    if len(usable):
        samples = np.clip(samples - usable.mean() + value, 0.0, 1.0)
    return interval(value, samples, documents)


def token_frequencies(
    windows: Sequence[Int64[np.ndarray, " _"]], size: int
) -> Int64[np.ndarray, " token_type"]:
    """How often each token occurs in some texts.

    Args:
        windows: Token ids.
        size: Of the vocabulary.
    """
    total = np.zeros(size, dtype=np.int64)
    for ids in windows:
        total += np.bincount(ids, minlength=size)
    return total
