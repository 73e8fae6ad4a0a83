"""The sums of all pairs of documents, and what is compared with what.

Everything here is a mean over the tokens or pairs of tokens of one pair of documents; what varies
between pairs of documents is judged elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.findings.reach.places import repeat_distances, splice_point

VARIANTS = ("centred_cosine", "raw")
GROUPS = ("all", "different_words", "sinks")
COMPARISONS: Mapping[str, str] = {
    "excess": "intact text minus spliced text",
    "order": "intact text minus the same sentences in random order",
    "untrained": "intact minus spliced, by models with random weights",
    "learned": "the excess of the model minus that of models with random weights",
}
"""What can be compared, in words."""


@dataclass(frozen=True, eq=False)
class ReachEvidence:
    """What was measured, for every pair of documents."""

    heads: Sequence[tuple[str, int, int]]
    """Stack, layer and head of each row, counted from 1."""
    edges: tuple[int, ...]
    """Of the bins of distance."""
    window: int
    """Length of the texts, in tokens."""
    point: int
    """Where texts are spliced."""
    repeat_distances: tuple[int, ...]
    """How far apart planted phrases are."""
    arrays: Mapping[str, NDArray[np.float64]]
    """By name, with pairs of documents along the first axis."""

    @classmethod
    def of_windows(
        cls,
        heads: Sequence[tuple[str, int, int]],
        edges: tuple[int, ...],
        window: int,
        windows: NDArray[np.int64],
        cells: Mapping[str, NDArray[np.float64]],
    ) -> "ReachEvidence":
        """What the pairs (0, 1), (2, 3), ... show of which both windows were measured.

        Args:
            heads: Stack, layer and head of each row.
            edges: Of the bins of distance.
            window: Length of the texts, in tokens.
            windows: The numbers of the windows that were measured.
            cells: Of those windows.
        """
        place = {number: at for at, number in enumerate(windows.tolist())}
        first = [at for number, at in place.items() if number % 2 == 0 and number + 1 in place]
        second = [place[int(windows[at]) + 1] for at in first]
        return cls(
            heads=heads,
            edges=edges,
            window=window,
            point=splice_point(window),
            repeat_distances=repeat_distances(window),
            arrays={name: values[first] + values[second] for name, values in cells.items()},
        )

    @property
    def units(self) -> int:
        """Number of pairs of documents."""
        return len(self.arrays["intact/sums"])

    @property
    def comparisons(self) -> list[str]:
        """What this evidence can compare."""
        found = ["excess"]
        if "shuffled/sums" in self.arrays:
            found.append("order")
        if self._seeds():
            found += ["untrained", "learned"]
        return found

    def differences(
        self, comparison: str, variant: str, group: str
    ) -> Float64[np.ndarray, "unit row bin"]:
        """The difference of mean similarity in each pair of documents; NaN without pairs of tokens.

        Args:
            comparison: One of `comparisons`.
            variant: How vectors are compared.
            group: Which pairs of tokens.
        """
        if comparison == "learned":
            ours = self.differences("excess", variant, group)
            learned: NDArray[np.float64] = ours - self.differences("untrained", variant, group)
            return learned
        if comparison == "untrained":
            each = [
                self._mean(f"{seed}/intact", variant, group)
                - self._mean(f"{seed}/spliced", variant, group)
                for seed in self._seeds()
            ]
            mean: NDArray[np.float64] = np.mean(each, axis=0)
            return mean
        against = "shuffled" if comparison == "order" else "spliced"
        intact = self._mean("intact", variant, group)
        difference: NDArray[np.float64] = intact - self._mean(against, variant, group)
        return difference

    def by_layer(
        self, values: Float64[np.ndarray, "unit row bin"]
    ) -> tuple[list[tuple[str, int]], Float64[np.ndarray, "unit layer bin"]]:
        """The layers, and the mean over the heads of each.

        Args:
            values: Of each head.
        """
        layers = list(dict.fromkeys((stack, layer) for stack, layer, _ in self.heads))
        of_row = [(stack, layer) for stack, layer, _ in self.heads]
        rows = [[at for at, one in enumerate(of_row) if one == layer] for layer in layers]
        return layers, np.stack([values[:, some].mean(1) for some in rows], axis=1)

    def changes(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Squared changes and squared lengths of scored tokens, by pair, head and bin.

        Args:
            name: `use`, `repeats_again` or `repeats_before`.
        """
        if f"{name}/change" not in self.arrays:
            return None
        return self.arrays[f"{name}/change"], self.arrays[f"{name}/size"]

    def _mean(self, name: str, variant: str, group: str) -> Float64[np.ndarray, "unit row bin"]:
        at = GROUPS.index(group)
        sums = self.arrays[f"{name}/sums"][:, VARIANTS.index(variant), at]
        counts = self.arrays[f"{name}/counts"][:, at][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            mean: NDArray[np.float64] = np.where(counts > 0, sums / counts, np.nan)
        return mean

    def _seeds(self) -> list[str]:
        names = {name.partition("/")[0] for name in self.arrays if name.startswith("untrained_")}
        return sorted(names)
