"""Groups of windows: random disjoint subsets, random halves, domains. Documents stay whole.

Windows of one document depend on each other. If they were assigned one by one, every subset would
hold parts of the same documents, and subsets would agree more than new documents do.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int


@dataclass(frozen=True, slots=True)
class WindowGroups:
    """Groups of windows that do not overlap."""

    names: tuple[str, ...]
    member: Bool[np.ndarray, "group window"]

    @property
    def windows(self) -> tuple[int, ...]:
        """The number of windows of each group."""
        return tuple(self.member.sum(axis=1).tolist())


def random_subsets(
    document: Int[np.ndarray, " window"], windows: int, subsets: int, rng: np.random.Generator
) -> WindowGroups:
    """`subsets` disjoint groups of about `windows` windows each, of whole documents.

    Documents in random order go to the smallest group until all groups are full: a group exceeds
    `windows` by less than one document. There must be at least as many documents as groups.
    """
    lengths = np.bincount(document)
    sizes = np.zeros(subsets, dtype=np.int64)
    group = np.full(len(lengths), -1)
    for number in rng.permutation(len(lengths)):
        smallest = int(sizes.argmin())
        if sizes[smallest] >= windows:
            break
        group[number] = smallest
        sizes[smallest] += lengths[number]
    names = tuple(f"subset {number}" for number in range(1, subsets + 1))
    return WindowGroups(names, group[document] == np.arange(subsets)[:, None])


def random_halves(
    document: Int[np.ndarray, " window"], splits: int, rng: np.random.Generator
) -> Bool[np.ndarray, "split 2 window"]:
    """The windows cut into halves in `splits` random ways: documents whole, halves about equal.

    Documents are put into random order; those whose middle lies in the first half of the windows
    are one half. With two documents or more, neither half is empty.
    """
    lengths = np.bincount(document)
    halves = []
    for _ in range(splits):
        order = rng.permutation(len(lengths))
        first = np.empty(len(lengths), dtype=bool)
        first[order] = 2 * lengths[order].cumsum() - lengths[order] < len(document)
        halves.append([first[document], ~first[document]])
    return np.array(halves)


def labelled_groups(labels: Sequence[str | None], most: int) -> WindowGroups:
    """A group for each label, the largest first, at most `most` of them; None is no label."""
    largest = Counter(label for label in labels if label is not None).most_common(most)
    names = tuple(name for name, _ in largest)
    place = {name: number for number, name in enumerate(names)}
    group = np.array([place.get(label, -1) if label is not None else -1 for label in labels])
    return WindowGroups(names, group == np.arange(len(names))[:, None])


def permuted_groups(
    groups: WindowGroups, unit: Int[np.ndarray, " window"], rng: np.random.Generator
) -> Bool[np.ndarray, "group window"]:
    """The same groups after their units were permuted: what chance makes of them.

    A unit (a document, or a window) lies in one group, and each group keeps its number of units.
    """
    inside = groups.member.any(axis=0)
    units, number = np.unique(unit[inside], return_inverse=True)
    group_of_unit = np.zeros(len(units), dtype=np.int64)
    group_of_unit[number] = groups.member[:, inside].argmax(axis=0)
    permuted = rng.permutation(group_of_unit)
    member = np.zeros_like(groups.member)
    member[:, inside] = permuted[number] == np.arange(len(groups.names))[:, None]
    return member
