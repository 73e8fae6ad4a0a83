"""A stack of a run with its bootstrap samples: any quantity of any layers, with its interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.compare.quantities import COLUMNS, Quantity
from headscope.compare.shared_documents import SharedDocuments
from headscope.findings.resampling.bootstrap import Interval, interval, resampled_sums
from headscope.run import Run


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number with its bootstrap samples."""

    value: float
    samples: Float64[np.ndarray, " sample"]

    @property
    def interval(self) -> Interval:
        """The number with its interval."""
        return interval(self.value, self.samples)

    def less(self, other: "Estimate") -> "Estimate":
        """The difference, sample by sample: what both have in common cancels."""
        return Estimate(self.value - other.value, self.samples - other.samples)


@dataclass(frozen=True, eq=False)
class ResampledStack:
    """Column sums of every layer, over all texts and over each bootstrap sample."""

    layers: tuple[int, ...]
    sums: dict[str, Float64[np.ndarray, " layer"]]
    samples: dict[str, Float64[np.ndarray, "sample layer"]]

    def estimate(self, quantity: Quantity, places: Sequence[int]) -> Estimate:
        """A quantity pooled over some layers, given by their places."""
        chosen = list(places)
        value = quantity.value(
            {name: self.sums[name][chosen].sum(keepdims=True) for name in quantity.columns}
        )
        samples = quantity.value(
            {name: self.samples[name][:, chosen].sum(axis=1) for name in quantity.columns}
        )
        return Estimate(float(value[0]), samples)


def resample_stack(
    runs: Sequence[Run], units: Sequence[SharedDocuments], stack: str, seed: int
) -> ResampledStack:
    """A stack of one run, or of several seeds of the untrained model taken together.

    The same seed draws the same documents for all runs of a group.
    """
    size, group = units[0].size, units[0].group
    per_unit: dict[str, NDArray[np.float64]] = {}
    layers: tuple[int, ...] = ()
    for run, of_run in zip(runs, units, strict=True):
        table = run.findings.window_table(stack, COLUMNS)
        layers = table.layers
        for name, values in table.columns.items():
            per_text = np.nansum(values, axis=2)
            summed = per_unit.setdefault(name, np.zeros((size, len(layers))))
            np.add.at(summed, of_run.of_text, per_text)
            # A column that does not apply is absent, not zero.
            summed[:, np.isnan(values).all(axis=(0, 2))] = np.nan
    return resample_sums(per_unit, layers, seed + group)


def resample_sums(
    per_unit: Mapping[str, Float64[np.ndarray, "unit layer"]], layers: tuple[int, ...], seed: int
) -> ResampledStack:
    """A stack from the column sums of each unit."""
    units = np.arange(len(next(iter(per_unit.values()))))
    drawn = resampled_sums(np.concatenate(list(per_unit.values()), axis=1), units, seed)
    parts = np.split(drawn, len(per_unit), axis=1)
    return ResampledStack(
        layers=layers,
        sums={name: values.sum(axis=0) for name, values in per_unit.items()},
        samples=dict(zip(per_unit, parts, strict=True)),
    )
