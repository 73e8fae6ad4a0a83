"""The column sums of a run in every bootstrap sample, from which all intervals are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int

from headscope.findings.resampling.bootstrap import RESAMPLES, Interval, interval, resampled_sums
from headscope.findings.resampling.window_table import WindowTable
from headscope.measures.measure import Measure

Samples = Float64[np.ndarray, " sample"]
"""A number in the run itself (first) and in each bootstrap sample (the rest)."""


@dataclass(frozen=True, eq=False)
class ResampledRun:
    """The sums over windows of one stack, in the run itself (sample 0) and in each resample."""

    sums: dict[str, Float64[np.ndarray, "sample layer head"]]
    layers: tuple[int, ...]
    windows: int
    documents: int

    def pooled(self, measure: Measure, layers: Sequence[int] | None = None) -> Samples:
        """A measure over all heads of some layers (all of them when None)."""
        return measure.value(self._of_layers((measure.numerator, measure.denominator), layers))

    def pooled_expected(self, measure: Measure, layers: Sequence[int] | None = None) -> Samples:
        """What the measure would be without the effect, over the same heads."""
        return _expected(measure, self._of_layers(measure.columns, layers))

    def excess(self, measure: Measure, layers: Sequence[int] | None = None) -> Samples:
        """The measure minus its expectation."""
        difference: Samples = self.pooled(measure, layers) - self.pooled_expected(measure, layers)
        return difference

    def per_head(self, measure: Measure) -> Float64[np.ndarray, "sample head_of_any_layer"]:
        """A measure for each head by itself, layer after layer."""
        return _flat(measure.value(self.sums))

    def per_head_expected(
        self, measure: Measure
    ) -> Float64[np.ndarray, "sample head_of_any_layer"]:
        """The expectation of a measure for each head by itself."""
        return _flat(_expected(measure, self.sums))

    def total(self, column: str) -> float:
        """The sum of a column over all windows, layers and heads."""
        return float(np.nansum(self.sums[column][0]))

    def _of_layers(
        self, columns: Sequence[str], layers: Sequence[int] | None
    ) -> dict[str, Samples]:
        wanted = self.layers if layers is None else layers
        places = [self.layers.index(layer) for layer in wanted]
        return {name: self.sums[name][:, places].sum(axis=(1, 2)) for name in columns}


def resample_run(table: WindowTable, seed: int, resamples: int = RESAMPLES) -> ResampledRun:
    """The sums of a table's columns in the run itself and in bootstrap samples of its documents.

    Args:
        table: The columns of one stack. NaN counts as 0.
        seed: Of the draws.
        resamples: Number of bootstrap samples.
    """
    columns = {name: np.nan_to_num(values) for name, values in table.columns.items()}
    return resample_columns(columns, table.document, table.layers, seed, resamples)


def resample_columns(
    columns: Mapping[str, Float64[np.ndarray, "unit layer head"]],
    document: Int[np.ndarray, " unit"],
    layers: tuple[int, ...],
    seed: int,
    resamples: int = RESAMPLES,
) -> ResampledRun:
    """The sums of columns over their units (windows, or whole documents), and resampled.

    Args:
        columns: By name. A cell that is NaN in any unit is NaN in all sums.
        document: The number of each unit's document: documents are drawn, not units.
        layers: The numbers of the layers, in the order of their axis.
        seed: Of the draws: the same seed and documents give the same samples.
        resamples: Number of bootstrap samples.
    """
    shape = next(iter(columns.values())).shape
    cells = [values.reshape(shape[0], -1) for values in columns.values()]
    in_run = np.concatenate([values.sum(axis=0) for values in cells])
    drawn = resampled_sums(np.concatenate(cells, axis=1), document, seed, resamples)
    parts = np.split(np.concatenate([in_run[None], drawn]), len(columns), axis=1)
    return ResampledRun(
        sums={
            name: part.reshape(-1, *shape[1:]) for name, part in zip(columns, parts, strict=True)
        },
        layers=layers,
        windows=len(document),
        documents=len(np.unique(document)),
    )


def interval_of(samples: Samples) -> Interval:
    """The value in the run with its interval."""
    return interval(float(samples[0]), samples[1:])


def over_seeds(seeds: Sequence[Samples]) -> Samples:
    """One set of samples from those of several seeds: it varies with documents and with seeds."""
    stacked = np.stack(seeds)
    picked = stacked[np.arange(stacked.shape[1]) % len(stacked), np.arange(stacked.shape[1])]
    picked[0] = stacked[:, 0].mean()
    return picked


def _expected(
    measure: Measure, sums: Mapping[str, Float64[np.ndarray, "..."]]
) -> Float64[np.ndarray, "..."]:
    expected = measure.expected_value(sums)
    if expected is None:
        raise ValueError(f"{measure.name} has no expectation")
    return expected


def _flat(values: Float64[np.ndarray, "sample layer head"]) -> Float64[np.ndarray, "sample cell"]:
    return values.reshape(len(values), -1)
