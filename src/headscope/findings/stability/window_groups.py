"""Groups of texts: random disjoint subsets, random halves, domains. Documents stay whole.

Windows of one document depend on each other. Were they dealt out one by one, every subset would
hold parts of the same documents, and subsets would agree more than new texts do.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int


@dataclass(frozen=True, slots=True)
class WindowGroups:
    """Some groups of texts that do not overlap."""

    names: tuple[str, ...]
    member: Bool[np.ndarray, "group text"]

    @property
    def texts(self) -> tuple[int, ...]:
        """The number of texts of each group."""
        return tuple(self.member.sum(axis=1).tolist())


def random_subsets(
    document: Int[np.ndarray, " text"], texts: int, subsets: int, rng: np.random.Generator
) -> WindowGroups:
    """`subsets` disjoint groups of about `texts` texts each, of whole documents.

    Documents in random order go to the smallest group, until all groups are full: a group has more
    than `texts` by at most a part of one document. There must be as many documents as groups.
    """
    lengths = np.bincount(document)
    sizes = np.zeros(subsets, dtype=np.int64)
    group = np.full(len(lengths), -1)
    for number in rng.permutation(len(lengths)):
        smallest = int(sizes.argmin())
        if sizes[smallest] >= texts:
            break
        group[number] = smallest
        sizes[smallest] += lengths[number]
    names = tuple(f"subset {number}" for number in range(1, subsets + 1))
    return WindowGroups(names, group[document] == np.arange(subsets)[:, None])


def random_halves(
    document: Int[np.ndarray, " text"], splits: int, rng: np.random.Generator
) -> Bool[np.ndarray, "split 2 text"]:
    """The texts cut into halves in `splits` random ways: documents whole, halves about equal.

    Documents in random order; those whose middle lies in the first half of the texts are one half.
    Neither half is empty, given two documents.
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
    """A group for each label, the largest first, at the most `most`; no label is no group."""
    largest = Counter(label for label in labels if label is not None).most_common(most)
    names = tuple(name for name, _ in largest)
    place = {name: number for number, name in enumerate(names)}
    group = np.array([place.get(label, -1) if label is not None else -1 for label in labels])
    return WindowGroups(names, group == np.arange(len(names))[:, None])


def dealt_anew(
    groups: WindowGroups, unit: Int[np.ndarray, " text"], rng: np.random.Generator
) -> Bool[np.ndarray, "group text"]:
    """The same groups after their units changed places at random: what chance makes of them.

    A unit (a document, or a text) lies in one group, and each group keeps its number of units.
    """
    inside = groups.member.any(axis=0)
    units, number = np.unique(unit[inside], return_inverse=True)
    group_of_unit = np.zeros(len(units), dtype=np.int64)
    group_of_unit[number] = groups.member[:, inside].argmax(axis=0)
    dealt = rng.permutation(group_of_unit)
    member = np.zeros_like(groups.member)
    member[:, inside] = dealt[number] == np.arange(len(groups.names))[:, None]
    return member
