"""What a layer's guess loses without each of its heads: effects with intervals over documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64

from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.window_cells import WindowRatios, resample_windows

EFFECTS = ("entropy_increase", "loss_increase", "kl")
"""In nats per position: the guess without the head minus that with it, and the divergence of the
first from the second."""


@dataclass(frozen=True, slots=True)
class HeadLens:
    """What the guess of a layer loses without one of its heads."""

    stack: str
    layer: int
    head: int
    readings: Mapping[str, Mapping[str, Interval]]
    """The effects (`EFFECTS`) by reading, as in `LayerLens`."""
    matters: Mapping[str, bool]
    """By reading, whether the loss increases; at most 5 % of such heads wrongly."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {"stack": self.stack, "layer": self.layer, "head": self.head}
        plain = {
            name: {
                **{effect: value.to_json() for effect, value in effects.items()},
                "matters": self.matters[name],
            }
            for name, effects in self.readings.items()
        }
        return found | nested_readings(plain)

    def row(self) -> dict[str, Any]:
        """The same as a row of a table: `READING_EFFECT`, with `_low` and `_high`."""
        row: dict[str, Any] = {"stack": self.stack, "layer": self.layer, "head": self.head}
        for name, effects in self.readings.items():
            for effect, one in effects.items():
                column = f"{name}_{effect}"
                row |= {column: one.value, f"{column}_low": one.low, f"{column}_high": one.high}
            row[f"{name}_matters"] = self.matters[name]
        return row


@dataclass(frozen=True, slots=True)
class HeadEffects:
    """What all heads do for the guesses of their layers."""

    heads: tuple[HeadLens, ...]
    reliability: Mapping[str, Mapping[str, float]]
    """By reading and effect: how well the ranking of the heads would repeat on as many other
    documents, 1 is perfectly. NaN with fewer than four documents."""

    @property
    def table(self) -> pd.DataFrame:
        """A row per head."""
        return pd.DataFrame([head.row() for head in self.heads])

    def to_json(self) -> dict[str, Any]:
        """Plain values: `heads` and `heads_reliability`."""
        plain = {
            name: {effect: value if np.isfinite(value) else None for effect, value in one.items()}
            for name, one in self.reliability.items()
        }
        return {
            "heads": [head.to_json() for head in self.heads],
            "heads_reliability": nested_readings(plain),
        }


def head_effects(
    heads: Sequence[tuple[str, int, int]],
    sums: Mapping[str, Mapping[str, Float64[np.ndarray, "window head"]]],
    scored: Mapping[str, Float64[np.ndarray, " window"]],
    documents: Int64[np.ndarray, " window"],
    seed: int,
) -> HeadEffects:
    """The mean of each effect over scored positions, with intervals over documents.

    Args:
        heads: Stack, layer and number of each.
        sums: By reading and effect, over the scored positions of each window.
        scored: The number of these positions, by reading.
        documents: The document of each window.
        seed: Of the bootstrap.
    """
    ratios: dict[str, dict[str, WindowRatios]] = {
        name: {
            effect: resample_windows(values, scored[name][:, None], documents, seed)
            for effect, values in effects.items()
        }
        for name, effects in sums.items()
    }
    intervals = {
        name: {effect: one.intervals() for effect, one in effects.items()}
        for name, effects in ratios.items()
    }
    matters = {name: effects["loss_increase"].above_zero() for name, effects in ratios.items()}
    return HeadEffects(
        tuple(
            HeadLens(
                *head,
                {
                    name: {effect: found[place] for effect, found in effects.items()}
                    for name, effects in intervals.items()
                },
                {name: bool(found[place]) for name, found in matters.items()},
            )
            for place, head in enumerate(heads)
        ),
        {
            name: {effect: one.reliability(seed) for effect, one in effects.items()}
            for name, effects in ratios.items()
        },
    )


def nested_readings(readings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Values by reading as JSON has them: those of the lens by themselves, others below their name.

    Args:
        readings: By name: `lens`, `lens_unmasked`, `probe`, `probe_unmasked`.
    """
    found: dict[str, Any] = {}
    for name, values in readings.items():
        reading, _, group = name.partition("_")
        place = found if reading == "lens" else found.setdefault(reading, {})
        place |= {group: dict(values)} if group else dict(values)
    return found
