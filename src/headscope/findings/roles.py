"""The role of each head: what its pairs and its attention are mostly about, by stated rules.

A head has a trait when a measure clears two bars: a fixed one, below which the trait would be too
weak to name the head after, and the largest value among the heads of the untrained model, which
learning does not explain. A head with one trait has that role, a head with several is mixed. A head
with none is local or broad by the distance of its pairs, or mixed.

To add a role that a measure decides, put it into `ROLES` below: the role map, the report with its
legend, and the comparison of runs take name, letter and colours from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.measures import MEASURES
from headscope.system.registry import Registry

LOCAL_BELOW = 0.5
"""A local head's mean distance is at most this share of that of random pairs."""
BROAD_ABOVE = 0.85
"""A broad head's mean distance is at least this share of that of random pairs."""


@dataclass(frozen=True, slots=True)
class Trait:
    """What a measure must show for a head to be named after it."""

    strength: Callable[[pd.DataFrame], "pd.Series[float]"]
    """How strongly each head of a table has the trait, as a share between 0 and 1."""
    bar: float
    """The smallest share that makes the trait worth naming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role that a head may have, and how pages show it.

    It has a letter as well as a colour, so that colour is not needed to tell roles apart. The
    colours are those of Okabe and Ito, which people with any colour vision can tell apart.
    """

    name: str
    letter: str
    colour: str
    ink: str = "#000000"
    """The colour of the letter."""
    meaning: str
    trait: Trait | None = None
    """None for the roles of heads that have no trait, or several."""


def excess(measure: str) -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    """How far a measure is beyond its expectation: (value - expected) / (maximum - expected)."""

    def strength(heads: pd.DataFrame) -> "pd.Series[float]":
        beyond = MEASURES[measure].relative_excess(
            heads[measure].to_numpy(), heads[f"{measure}_expected"].to_numpy()
        )
        return pd.Series(beyond, index=heads.index)

    return strength


ROLES: Registry[Role] = Registry(
    "role",
    [
        Role(
            name="repetition",
            letter="R",
            colour="#D55E00",
            ink="#FFFFFF",
            meaning="pairs that are one token twice, beyond chance",
            trait=Trait(excess("repetition"), 0.25),
        ),
        Role(
            name="sentence-block",
            letter="S",
            colour="#007A59",
            ink="#FFFFFF",
            meaning="pairs inside one sentence, beyond chance at their distance",
            trait=Trait(excess("same_sentence"), 0.25),
        ),
        Role(
            name="common-token",
            letter="C",
            colour="#E69F00",
            meaning="pair elements that are the focal token, beyond its frequency",
            trait=Trait(excess("focal_concentration"), 0.5),
        ),
        Role(
            name="separator",
            letter="P",
            colour="#CC79A7",
            meaning="attention on . ! ?",
            trait=Trait(lambda heads: heads["separator_attention"], 0.25),
        ),
        Role(name="local", letter="L", colour="#56B4E9", meaning="pairs of near tokens"),
        Role(
            name="broad",
            letter="B",
            colour="#0072B2",
            ink="#FFFFFF",
            meaning="pairs over any distance",
        ),
        Role(
            name="mixed",
            letter="M",
            colour="#BBBBBB",
            meaning="several traits, or none that is clear",
        ),
    ],
)


def assign_roles(heads: pd.DataFrame, untrained: pd.DataFrame | None) -> pd.DataFrame:
    """The role of every head with the evidence for it: stack, layer, head, role, evidence.

    Args:
        heads: A table of measures per head, as `Run.heads`.
        untrained: The same of the untrained model; without it the fixed bars alone decide.
    """
    parts = [
        _roles_of_stack(
            of_stack, None if untrained is None else untrained[untrained["stack"] == stack]
        )
        for stack, of_stack in heads.groupby("stack", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def _roles_of_stack(heads: pd.DataFrame, untrained: pd.DataFrame | None) -> pd.DataFrame:
    traits = {role.name: role.trait for role in ROLES if role.trait is not None}
    bars = {role: _bar(trait, untrained) for role, trait in traits.items()}
    strengths = {role: trait.strength(heads).to_numpy(float) for role, trait in traits.items()}
    records = []
    for place, head in enumerate(heads.to_dict("records")):
        strength = {role: float(values[place]) for role, values in strengths.items()}
        clear = [role for role, value in strength.items() if value > bars[role]]
        distance, random = head["mean_distance"], head["mean_distance_expected"]
        # Without a clear trait, the nearest miss is the most telling.
        shown = clear or [max(strength, key=lambda role: strength[role] / bars[role])]
        evidence = [f"{role} {strength[role]:.2f} (bar {bars[role]:.2f})" for role in shown]
        evidence.append(f"mean distance {distance:.1f} (random pairs {random:.1f})")
        records.append(
            {
                "stack": head["stack"],
                "layer": head["layer"],
                "head": head["head"],
                "role": _role(clear, distance / random),
                "evidence": "; ".join(evidence),
            }
        )
    return pd.DataFrame(records)


def _bar(trait: Trait, untrained: pd.DataFrame | None) -> float:
    if untrained is None or untrained.empty:
        return trait.bar
    return float(np.nanmax([trait.bar, trait.strength(untrained).max()]))


def _role(clear: list[str], distance_to_random: float) -> str:
    if len(clear) == 1:
        return clear[0]
    if not clear and distance_to_random <= LOCAL_BELOW:
        return "local"
    if not clear and distance_to_random >= BROAD_ABOVE:
        return "broad"
    return "mixed"
