"""How well a segmentation agrees with a reference: F1, Pk, WindowDiff, Boundary Similarity.

A segmentation of n units (sentences, words, characters) is an array of n - 1 booleans: whether a
segment ends between unit i and unit i + 1. Window sizes and edge cases are those of segeval
(Fournier 2013), so that numbers can be compared with those in papers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

Boundaries = Bool[np.ndarray, " gap"]


@dataclass(frozen=True, slots=True)
class BoundaryCounts:
    """Boundaries found, missed and made up. Counts of several texts add up."""

    true_positives: int = 0
    found: int = 0
    wanted: int = 0

    def __add__(self, other: "BoundaryCounts") -> "BoundaryCounts":
        return BoundaryCounts(
            self.true_positives + other.true_positives,
            self.found + other.found,
            self.wanted + other.wanted,
        )

    @property
    def precision(self) -> float:
        """The share of the found boundaries that are in the reference; NaN when none was found."""
        return self.true_positives / self.found if self.found else float("nan")

    @property
    def recall(self) -> float:
        """The share of the reference that was found; NaN when there is nothing to find."""
        return self.true_positives / self.wanted if self.wanted else float("nan")

    @property
    def f1(self) -> float:
        """Twice the hits over found plus wanted; NaN when there is neither."""
        total = self.found + self.wanted
        return 2 * self.true_positives / total if total else float("nan")


def count_boundaries(found: Sequence[int], wanted: Sequence[int]) -> BoundaryCounts:
    """The counts for boundaries given by their places, such as characters."""
    hits = set(found) & set(wanted)
    return BoundaryCounts(len(hits), len(set(found)), len(set(wanted)))


def boundaries_at(places: Sequence[int], units: int) -> Boundaries:
    """The segmentation of some units in which segments begin at `places` (1 to units - 1)."""
    boundaries = np.zeros(max(units - 1, 0), dtype=bool)
    boundaries[np.asarray(places, dtype=np.int64) - 1] = True
    return boundaries


def window_size(reference: Boundaries) -> int:
    """Half the mean length of a reference segment, rounded to even, at least 2."""
    segments = int(reference.sum()) + 1
    return max(2, round((len(reference) + 1) / segments / 2))


def pk(found: Boundaries, reference: Boundaries, size: int | None = None) -> float:
    """The error Pk (Beeferman et al. 1999): lower is better.

    The share of the units k apart of which one segmentation has both in one segment and the other
    has not. NaN when the text is not longer than k. It rewards finding nothing: look at the
    segmentation without boundaries beside it.
    """
    size = size or window_size(reference)
    inside = _inside_windows(found, size), _inside_windows(reference, size)
    return _mean((inside[0] > 0) != (inside[1] > 0))


def window_diff(found: Boundaries, reference: Boundaries, size: int | None = None) -> float:
    """The error WindowDiff (Pevzner and Hearst 2002): lower is better.

    The share of the windows of k units in which both have a different number of boundaries. NaN
    when the text is not longer than k.
    """
    size = size or window_size(reference)
    return _mean(_inside_windows(found, size) != _inside_windows(reference, size))


def boundary_similarity(found: Boundaries, reference: Boundaries) -> float:
    """Boundary Similarity B (Fournier 2013): 1 is agreement, 0 no boundary in common.

    A boundary that is off by one unit is half a hit. Two segmentations without boundaries agree.
    """
    differs = found != reference
    near, place = 0, 0
    while place < len(differs) - 1:
        # One segmentation has a boundary here, the other one unit further on.
        if differs[place] and differs[place + 1] and found[place] != found[place + 1]:
            near += 1
            place += 1
        place += 1
    edits = int(differs.sum()) - near  # a near miss differs in two places and is one edit
    pairs = edits + int((found & reference).sum())
    return 1 - (edits - near / 2) / pairs if pairs else 1.0


def _inside_windows(boundaries: Boundaries, size: int) -> np.ndarray:
    """How many boundaries lie between unit i and unit i + size, for each i."""
    sums = np.concatenate([[0], np.cumsum(boundaries)])
    inside: np.ndarray = sums[size:] - sums[: max(len(sums) - size, 0)]
    return inside


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
