"""The role of each head: what its pairs and its attention are mostly about, by stated rules.

A head has a trait when a measure clears the bar: a fixed one, below which the trait would be too
weak to name the head after, or what the strongest head of an untrained model has, on average over
seeds, whichever is higher. Claims about heads have the same bar, and more seeds do not move it. A
head is named after its strongest trait, and its others are listed. A head without a trait is local
or broad by the distance of its pairs, or has no clear role.

To add a role that a measure decides, put it into `ROLES` below: the role map, the report with its
legend, and the comparison of runs take name, letter and colours from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.measures import MEASURES
from headscope.system.registry import Registry

_Strength = TypeVar("_Strength", float, NDArray[np.float64])

LOCAL_BELOW = 0.5
"""A local head's mean distance is at most this share of that of random pairs."""
BROAD_ABOVE = 0.85
"""A broad head's mean distance is at least this share of that of random pairs."""


@dataclass(frozen=True, slots=True)
class Trait:
    """What a measure must show for a head to be named after it."""

    strength: Callable[[pd.DataFrame], "pd.Series[float]"]
    """How strongly each head of a table has the trait, as a share between 0 and 1; NaN where the
    run has not measured it."""
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
    """None for the roles of heads that have no trait."""
    title: str = ""
    """What pages call it; its name, if empty."""
    claim: str = ""
    """The claim of the paper that is about such heads, if there is one."""

    @property
    def words(self) -> str:
        """What pages call it."""
        return self.title or self.name


def excess(measure: str) -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    """How far a measure is beyond its expectation: (value - expected) / (maximum - expected)."""

    def strength(heads: pd.DataFrame) -> "pd.Series[float]":
        if measure not in heads:
            return pd.Series(np.nan, index=heads.index)
        beyond = MEASURES[measure].relative_excess(
            heads[measure].to_numpy(), heads[f"{measure}_expected"].to_numpy()
        )
        return pd.Series(beyond, index=heads.index)

    return strength


def share(measure: str) -> Callable[[pd.DataFrame], "pd.Series[float]"]:
    """A measure that is a share already."""

    def strength(heads: pd.DataFrame) -> "pd.Series[float]":
        return heads[measure] if measure in heads else pd.Series(np.nan, index=heads.index)

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
            claim="repetition-heads",
        ),
        Role(
            name="sentence-block",
            letter="S",
            colour="#007A59",
            ink="#FFFFFF",
            meaning="pairs inside one sentence, beyond chance at their distance",
            trait=Trait(excess("same_sentence"), 0.25),
            claim="same-sentence",
        ),
        Role(
            name="common-token",
            letter="C",
            colour="#E69F00",
            meaning="pairs of different tokens that contain one common token, beyond chance",
            trait=Trait(excess("common_token"), 0.5),
            claim="common-token-heads",
        ),
        Role(
            name="separator",
            letter="P",
            colour="#CC79A7",
            meaning="attention on . ! ?",
            trait=Trait(share("separator_attention"), 0.25),
            claim="separators",
        ),
        Role(
            name="special-separator",
            letter="E",
            colour="#F0E442",
            meaning="attention on special separators ([SEP], </s>)",
            trait=Trait(share("special_separator_attention"), 0.25),
            claim="special-separators",
        ),
        Role(
            name="retrieval",
            letter="T",
            colour="#444444",
            ink="#FFFFFF",
            meaning="attends to an earlier occurrence of a phrase from 64 tokens away or more, and "
            "writes what depends on it (from the reach study of the run)",
            trait=Trait(share("retrieval"), 0.1),
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
            name="none",
            letter="N",
            colour="#BBBBBB",
            meaning="no trait clears its bar, and pairs are neither near nor spread",
            title="no clear role",
        ),
    ],
)


def assign_roles(heads: pd.DataFrame, untrained: Sequence[pd.DataFrame] = ()) -> pd.DataFrame:
    """The role of every head: stack, layer, head, role, others, evidence.

    `others` are the names of its weaker traits, the strongest first, with commas between them.

    Args:
        heads: A table of measures per head, as `Run.heads`.
        untrained: The same of the untrained model, a table for each seed; without them the fixed
            bars alone decide.
    """
    parts = []
    for stack, of_stack in heads.groupby("stack", sort=False):
        seeds = [table[table["stack"] == stack] for table in untrained]
        parts.append(_roles_of_stack(of_stack, bars_of(seeds)))
    return pd.concat(parts, ignore_index=True)


def bars_of(untrained: Sequence[pd.DataFrame]) -> dict[str, float]:
    """The strength that a head must exceed to be named after each trait.

    Args:
        untrained: The heads of one stack of the untrained model, a table for each seed.
    """
    return {role.name: _bar(role.trait, untrained) for role in ROLES if role.trait is not None}


def _bar(trait: Trait, untrained: Sequence[pd.DataFrame]) -> float:
    # The mean of the largest of each seed, as for claims: the largest of all seeds would grow with
    # their number.
    largest = np.array([trait.strength(table).max() for table in untrained], dtype=float)
    measured = largest[np.isfinite(largest)]
    return max(trait.bar, float(measured.mean())) if len(measured) else trait.bar


def _roles_of_stack(heads: pd.DataFrame, bars: Mapping[str, float]) -> pd.DataFrame:
    traits = {role.name: role.trait for role in ROLES if role.trait is not None}
    strengths = {role: trait.strength(heads).to_numpy(float) for role, trait in traits.items()}
    records = []
    for place, head in enumerate(heads.to_dict("records")):
        strength = {role: float(values[place]) for role, values in strengths.items()}
        beyond = {
            role: beyond_bar(value, bars[role])
            for role, value in strength.items()
            if np.isfinite(value)
        }
        ranked = sorted(beyond, key=lambda role: -beyond[role])
        clear = [role for role in ranked if beyond[role] > 0]
        distance, random = head["mean_distance"], head["mean_distance_expected"]
        # Without a clear trait, the nearest miss is the most telling.
        shown = clear or ranked[:1]
        evidence = [f"{role} {strength[role]:.2f} (bar {bars[role]:.2f})" for role in shown]
        evidence.append(f"mean distance {distance:.1f} (random pairs {random:.1f})")
        records.append(
            {
                "stack": head["stack"],
                "layer": head["layer"],
                "head": head["head"],
                "role": clear[0] if clear else _role_by_distance(distance / random),
                "others": ", ".join(clear[1:]),
                "evidence": "; ".join(evidence),
            }
        )
    return pd.DataFrame(records)


def beyond_bar(strength: _Strength, bar: float) -> _Strength:
    """How much of the way from the bar to 1 a head goes; traits with different bars compare.

    Args:
        strength: How strongly the head has the trait, or several heads.
        bar: What it must exceed.
    """
    return (strength - bar) / max(1 - bar, 1e-9)


def _role_by_distance(distance_to_random: float) -> str:
    if distance_to_random <= LOCAL_BELOW:
        return "local"
    if distance_to_random >= BROAD_ABOVE:
        return "broad"
    return "none"


def role_order(heads: pd.DataFrame, roles: pd.DataFrame) -> list[int]:
    """The place of each head of a stack among those of its role, from 0, the clearest first.

    Roles without a trait are ordered by the distance of their pairs: broad heads from the farthest,
    others from the nearest.

    Args:
        heads: A table of measures per head of one stack.
        roles: Their roles, in the same order.
    """
    distance = (heads["mean_distance"] / heads["mean_distance_expected"]).to_numpy(float)
    clearness = np.zeros(len(heads))
    for role in ROLES:
        here = (roles["role"] == role.name).to_numpy()
        if role.trait is not None:
            clearness[here] = role.trait.strength(heads).to_numpy(float)[here]
        else:
            clearness[here] = distance[here] if role.name == "broad" else -distance[here]
    ranks = (
        pd.Series(clearness)
        .groupby(roles["role"].to_numpy())
        .rank(method="first", ascending=False, na_option="bottom")
    )
    return [int(rank) - 1 for rank in ranks]
