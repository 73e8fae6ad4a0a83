"""The role of each head: what its pairs and its attention are mostly about, by stated rules.

A head has a trait when a measure clears two bars: a fixed one, below which the trait would be too
weak to name the head after, and the largest value among the heads of the untrained model, which no
learning explains. Four traits name a head: repetition, sentence-block, common-token, separator. A
head with one of them has that role, a head with several is mixed. A head with none is local or
broad by the distance of its pairs, or mixed.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

ROLES = (
    "repetition",
    "sentence-block",
    "common-token",
    "separator",
    "local",
    "broad",
    "mixed",
)

LOCAL_BELOW = 0.5
"""A local head's mean distance is at most this part of what blind choice of pairs gives."""
BROAD_ABOVE = 0.85
"""A broad head's mean distance is at least this part of what blind choice of pairs gives."""


@dataclass(frozen=True, slots=True)
class Trait:
    """Something that a head may be named after, as a share between 0 and 1."""

    role: str
    bar: float
    """The least share that makes the trait worth a name."""
    meaning: str

    def strength(self, heads: pd.DataFrame) -> pd.Series:
        """How strongly each head has the trait."""
        if self.role == "repetition":
            return _excess(heads, "repetition")
        if self.role == "sentence-block":
            return _excess(heads, "same_sentence")
        if self.role == "common-token":
            return _excess(heads, "focal_concentration", at_most=0.5)
        return heads["separator_attention"]


TRAITS = (
    Trait("repetition", 0.25, "pairs that are one token twice, beyond chance"),
    Trait("sentence-block", 0.25, "pairs inside one sentence, beyond chance at their distance"),
    Trait("common-token", 0.5, "pair elements that are the focal token, beyond its frequency"),
    Trait("separator", 0.25, "attention on . ! ?"),
)


def assign_roles(heads: pd.DataFrame, untrained: pd.DataFrame | None) -> pd.DataFrame:
    """The role of every head with the evidence for it: stack, layer, head, role, evidence.

    `heads` and `untrained` are tables of measures per head (`Run.heads`). Without an untrained
    model the fixed bars alone decide.
    """
    parts = [
        _roles_of_stack(
            of_stack, None if untrained is None else untrained[untrained["stack"] == stack]
        )
        for stack, of_stack in heads.groupby("stack", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def _roles_of_stack(heads: pd.DataFrame, untrained: pd.DataFrame | None) -> pd.DataFrame:
    bars = {trait.role: _bar(trait, untrained) for trait in TRAITS}
    strengths = {trait.role: trait.strength(heads).to_numpy(dtype=float) for trait in TRAITS}
    records = []
    for place, head in enumerate(heads.to_dict("records")):
        strength = {role: float(values[place]) for role, values in strengths.items()}
        clear = [role for role, value in strength.items() if value > bars[role]]
        distance, blind = head["mean_distance"], head["mean_distance_expected"]
        # Without a clear trait, the nearest miss is the most telling.
        shown = clear or [max(strength, key=lambda role: strength[role] / bars[role])]
        evidence = [f"{role} {strength[role]:.2f} (bar {bars[role]:.2f})" for role in shown]
        evidence.append(f"mean distance {distance:.1f} (blind choice {blind:.1f})")
        records.append(
            {
                "stack": head["stack"],
                "layer": head["layer"],
                "head": head["head"],
                "role": _role(clear, distance / blind),
                "evidence": "; ".join(evidence),
            }
        )
    return pd.DataFrame(records)


def _bar(trait: Trait, untrained: pd.DataFrame | None) -> float:
    if untrained is None or untrained.empty:
        return trait.bar
    return float(np.nanmax([trait.bar, trait.strength(untrained).max()]))


def _role(clear: list[str], distance_to_blind: float) -> str:
    if len(clear) == 1:
        return clear[0]
    if not clear and distance_to_blind <= LOCAL_BELOW:
        return "local"
    if not clear and distance_to_blind >= BROAD_ABOVE:
        return "broad"
    return "mixed"


def _excess(heads: pd.DataFrame, measure: str, at_most: float = 1.0) -> pd.Series:
    """How much of the way from its expectation to its largest possible value a measure goes."""
    expected = heads[f"{measure}_expected"].clip(upper=at_most)
    return (heads[measure] - expected) / (at_most - expected).replace(0, np.nan)
