"""The heads that show a trait most clearly: where to begin to look."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.findings.roles import ROLES, Role, bars_of, beyond_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class StrikingHead:
    """A head, and what makes it worth a look."""

    stack: str
    layer: int
    head: int
    role: Role
    strength: float
    """How strongly it has the trait of the role, from 0 to 1; of a head without any trait, how
    near its pairs are: 1 minus their mean distance as a share of that of random pairs."""
    bar: float

    @property
    def why(self) -> str:
        """What makes it striking, in a sentence without a full stop."""
        if self.role.trait is None:
            return (
                "no head here has a clear trait; the pairs of this one are the nearest, "
                f"{1 - self.strength:.2f} of the mean distance of random pairs"
            )
        return (
            f"the clearest {self.role.words} head: {self.role.meaning}; strength "
            f"{self.strength:.2f} of at most 1, bar {self.bar:.2f}"
        )


def striking_heads(
    heads: pd.DataFrame, untrained: Sequence[pd.DataFrame] = (), *, most: int = 3
) -> list[StrikingHead]:
    """The clearest head of each of the clearest traits of one stack, the clearest first.

    How clear a trait is, is what names a head after it: how much of the way from the bar to 1 the
    head goes. No head is listed twice. Where no head has a trait, the one with the nearest pairs is
    listed, by itself; an empty list says that no head has pairs.

    Args:
        heads: A table of measures per head of one stack, as `Run.heads`.
        untrained: The same of the untrained model, a table for each seed.
        most: Maximum number of heads.
    """
    bars = bars_of(untrained)
    found: list[tuple[float, int, StrikingHead]] = []
    for role in ROLES:
        if role.trait is None:
            continue
        strengths = role.trait.strength(heads).to_numpy(float)
        for place in np.flatnonzero(strengths > bars[role.name]).tolist():
            strength, bar = float(strengths[place]), bars[role.name]
            head = _head(heads, place, role, strength, bar)
            found.append((beyond_bar(strength, bar), place, head))
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    chosen: list[StrikingHead] = []
    roles, places = set[str](), set[int]()
    for _, place, head in found:
        if head.role.name not in roles and place not in places and len(chosen) < most:
            chosen.append(head)
            roles.add(head.role.name)
            places.add(place)
    return chosen or _nearest(heads)


def _nearest(heads: pd.DataFrame) -> list[StrikingHead]:
    distances = (heads["mean_distance"] / heads["mean_distance_expected"]).to_numpy(float)
    if not np.isfinite(distances).any():
        return []
    place = int(np.nanargmin(distances))
    return [_head(heads, place, ROLES["local"], float(1 - distances[place]), 0.0)]


def _head(heads: pd.DataFrame, place: int, role: Role, strength: float, bar: float) -> StrikingHead:
    row = heads.iloc[place]
    return StrikingHead(
        stack=str(row["stack"]),
        layer=int(row["layer"]),
        head=int(row["head"]),
        role=role,
        strength=strength,
        bar=bar,
    )
