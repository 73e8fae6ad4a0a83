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
    """Boundaries found, and those that should have been. Counts of several texts add up."""

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
    """The counts for boundaries given by their places, such as characters.

    >>> count_boundaries(found=[3, 8], wanted=[3, 5, 8, 9]).recall
    0.5

    Args:
        found: Places of the boundaries found.
        wanted: Places of those in the reference.
    """
    hits = set(found) & set(wanted)
    return BoundaryCounts(len(hits), len(set(found)), len(set(wanted)))


def boundaries_at(places: Sequence[int], units: int) -> Boundaries:
    """The segmentation of some units in which segments begin at some places.

    >>> boundaries_at([2], units=4)
    array([False,  True, False])

    Args:
        places: Units at which a segment begins, without the first: 1 to `units` - 1.
        units: Number of units.
    """
    boundaries = np.zeros(max(units - 1, 0), dtype=bool)
    boundaries[np.asarray(places, dtype=np.int64) - 1] = True
    return boundaries


def window_size(reference: Boundaries) -> int:
    """k, half the mean length of a reference segment: rounded half to even, at least 2.

    Args:
        reference: The reference segmentation.
    """
    segments = int(reference.sum()) + 1
    return max(2, round((len(reference) + 1) / segments / 2))


def pk(found: Boundaries, reference: Boundaries, size: int | None = None) -> float:
    """The error Pk (Beeferman et al. 1999): lower is better.

    The share of pairs of units k apart that are in one segment according to one segmentation but
    not according to the other. NaN when the text is not longer than k. It rewards finding nothing:
    compare it with that of a segmentation without boundaries.

    >>> reference = boundaries_at([4], units=8)
    >>> pk(boundaries_at([], units=8), reference), pk(reference, reference)
    (0.3333333333333333, 0.0)

    Args:
        found: The segmentation that is judged.
        reference: The reference segmentation.
        size: k; by default `window_size(reference)`.
    """
    size = size or window_size(reference)
    inside = _inside_windows(found, size), _inside_windows(reference, size)
    return _mean((inside[0] > 0) != (inside[1] > 0))


def window_diff(found: Boundaries, reference: Boundaries, size: int | None = None) -> float:
    """The error WindowDiff (Pevzner and Hearst 2002): lower is better.

    The share of pairs of units k apart that have a different number of boundaries between them in
    the two segmentations. NaN when the text is not longer than k.

    >>> window_diff(boundaries_at([3, 4], units=8), boundaries_at([4], units=8))
    0.3333333333333333

    Args:
        found: The segmentation that is judged.
        reference: The reference segmentation.
        size: k; by default `window_size(reference)`.
    """
    size = size or window_size(reference)
    return _mean(_inside_windows(found, size) != _inside_windows(reference, size))


def boundary_similarity(found: Boundaries, reference: Boundaries) -> float:
    """Boundary Similarity B (Fournier 2013): 1 for agreement, 0 for no boundary in common.

    A boundary that is off by one unit is half a hit. Two segmentations without boundaries agree.

    >>> boundary_similarity(boundaries_at([3], units=8), boundaries_at([4], units=8))
    0.5

    Args:
        found: The segmentation that is judged.
        reference: The reference segmentation.
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
    """The number of boundaries between unit i and unit i + size, for each i."""
    sums = np.concatenate([[0], np.cumsum(boundaries)])
    inside: np.ndarray = sums[size:] - sums[: max(len(sums) - size, 0)]
    return inside


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
