"""The guesses of every layer at scored positions, and their means with intervals over documents."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.window_cells import resample_windows


@dataclass(frozen=True, eq=False, slots=True)
class Guesses:
    """Scores of one group of positions, such as the hidden ones; NaN in slots without a position.

    Logarithms are natural ones: entropies are in nats.
    """

    target: Float64[np.ndarray, "window slot"]
    """The true tokens."""
    predicted: Float64[np.ndarray, "window layer slot"]
    """The token that a layer finds most probable."""
    entropy: Float64[np.ndarray, "window layer slot"]
    cross_entropy: Float64[np.ndarray, "window layer slot"]
    rank: Float64[np.ndarray, "window layer slot"]
    """Of the true token, from 1."""
    kl: Float64[np.ndarray, "window layer slot"]
    """Divergence of the layer's guess from that of the last layer."""
    documents: Int64[np.ndarray, " window"]

    @property
    def correct(self) -> Float64[np.ndarray, "window layer slot"]:
        """1 where a layer guesses the true token, 0 where it does not."""
        right = self.predicted == self.target[:, None]
        correct: Float64[np.ndarray, "window layer slot"] = right.astype(np.float64)
        correct[~np.isfinite(self.predicted)] = np.nan
        return correct

    @property
    def scored(self) -> Bool[np.ndarray, "window slot"]:
        """Where a slot has a position."""
        scored: Bool[np.ndarray, "window slot"] = np.isfinite(self.target)
        return scored


def layer_means(guesses: Guesses, seed: int) -> dict[str, list[Interval]]:
    """The mean of each score over all positions, by layer, with intervals over documents.

    `rank` is the geometric mean: ranks spread over as many orders of magnitude as a vocabulary has,
    and a plain mean would show the worst positions alone.

    Args:
        guesses: Of one group.
        seed: Of the bootstrap.
    """
    values = {
        "entropy": guesses.entropy,
        "cross_entropy": guesses.cross_entropy,
        "accuracy": guesses.correct,
        "rank": np.log(guesses.rank),
        "kl": guesses.kl,
    }
    found: dict[str, list[Interval]] = {}
    for name, of_slots in values.items():
        known = np.isfinite(of_slots)
        sums = np.where(known, of_slots, 0.0).sum(-1)
        ratios = resample_windows(sums, known.sum(-1).astype(np.float64), guesses.documents, seed)
        found[name] = ratios.intervals()
    found["rank"] = [
        Interval(*(float(np.exp(end)) for end in (one.value, one.low, one.high)))
        for one in found["rank"]
    ]
    return found


def guesses_of(
    cells: Mapping[str, Float64[np.ndarray, "..."]],
    group: int,
    documents: Int64[np.ndarray, " window"],
    prefix: str = "",
) -> Guesses:
    """The guesses of one group, from the cells of a study.

    Args:
        cells: Of shape (window, group, layer, slot); `target` without layers.
        group: Its place.
        documents: The document of each window.
        prefix: Of the names of the cells, besides `target`.
    """
    names = ("predicted", "entropy", "cross_entropy", "rank", "kl")
    return Guesses(
        target=cells["target"][:, group],
        documents=documents,
        **{name: cells[f"{prefix}{name}"][:, group] for name in names},
    )
