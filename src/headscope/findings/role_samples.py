"""How many heads have each role in every bootstrap sample of documents."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from headscope.findings.resampling.resampled_run import ResampledRun, Samples
from headscope.findings.roles import BROAD_ABOVE, LOCAL_BELOW, ROLES, beyond_bar
from headscope.measures import MEASURES, Measure

ROLE_MEASURES: tuple[Measure, ...] = tuple(
    MEASURES[name]
    for name in (
        "mean_distance",
        "repetition",
        "same_sentence",
        "common_token",
        "separator_attention",
        "special_separator_attention",
    )
)
"""The measures that roles rest on and that are resampled; others are as in the whole run."""
ROLE_COLUMNS: tuple[str, ...] = tuple(
    dict.fromkeys(column for measure in ROLE_MEASURES for column in measure.columns)
)
"""The columns of a run that they are made of."""
_CHUNK = 100
"""Samples whose tables of heads are held at once."""


def role_counts(
    resampled: ResampledRun, heads: pd.DataFrame, bars: Mapping[str, float]
) -> dict[str, Samples]:
    """The number of heads with each role: in the run itself, and in each sample of documents.

    Args:
        resampled: `ROLE_COLUMNS` of one stack by head.
        heads: A table of measures per head of the stack, as `Run.heads`, in order.
        bars: What a head must exceed for each trait (see `bars_of`), the same in all samples.
    """
    samples: dict[str, Float64[np.ndarray, "sample head"]] = {}
    for measure in ROLE_MEASURES:
        samples[measure.name] = resampled.per_head(measure)
        if measure.expected is not None:
            samples[f"{measure.name}_expected"] = resampled.per_head_expected(measure)
    there = np.flatnonzero(np.isfinite(samples["mean_distance"][0]))
    assert len(there) == len(heads), "a stack has a row for each of its heads"
    parts = []
    for at in range(0, len(samples["mean_distance"]), _CHUNK):
        some = {name: values[at : at + _CHUNK, there] for name, values in samples.items()}
        parts.append(_roles(some, heads, bars))
    roles = np.concatenate(parts)
    return {
        role.name: (roles == number).sum(axis=1).astype(np.float64)
        for number, role in enumerate(ROLES)
    }


def _roles(
    samples: Mapping[str, Float64[np.ndarray, "some head"]],
    heads: pd.DataFrame,
    bars: Mapping[str, float],
) -> Int[np.ndarray, "some head"]:
    """The place in `ROLES` of each head's role, in each of some samples."""
    shape = samples["mean_distance"].shape
    others = heads.drop(columns=[name for name in samples if name in heads])
    table = pd.concat([others] * shape[0], ignore_index=True)
    table = table.assign(**{name: values.ravel() for name, values in samples.items()})
    names = [role.name for role in ROLES]
    beyond = np.full((len(names), len(table)), -np.inf)
    for place, role in enumerate(ROLES):
        if role.trait is not None:
            strength = np.asarray(role.trait.strength(table), dtype=np.float64)
            known = np.isfinite(strength)
            beyond[place, known] = beyond_bar(strength[known], bars[role.name])
    distance = (table["mean_distance"] / table["mean_distance_expected"]).to_numpy()
    without = np.select(
        [distance <= LOCAL_BELOW, distance >= BROAD_ABOVE],
        [names.index("local"), names.index("broad")],
        names.index("none"),
    )
    found = np.where(beyond.max(axis=0) > 0, beyond.argmax(axis=0), without)
    roles: Int[np.ndarray, "some head"] = found.reshape(shape)
    return roles
