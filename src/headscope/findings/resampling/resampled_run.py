"""The column sums of a run in every bootstrap sample, from which all intervals are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

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
        return measure.value(self._of_layers(measure, layers))

    def pooled_expected(self, measure: Measure, layers: Sequence[int] | None = None) -> Samples:
        """What the measure would be without the effect, over the same heads."""
        return _expected(measure, self._of_layers(measure, layers))

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

    def _of_layers(self, measure: Measure, layers: Sequence[int] | None) -> dict[str, Samples]:
        wanted = [self.layers.index(layer) for layer in (layers or self.layers)]
        columns = {measure.numerator, measure.denominator, measure.expected} - {None}
        return {
            str(name): np.nansum(self.sums[str(name)][:, wanted], axis=(1, 2)) for name in columns
        }


def resample_run(table: WindowTable, seed: int, resamples: int = RESAMPLES) -> ResampledRun:
    """The sums of a table's columns in the run itself and in bootstrap samples of its documents."""
    names = list(table.columns)
    shape = next(iter(table.columns.values())).shape
    cells = np.concatenate(
        [np.nan_to_num(table.columns[name]).reshape(shape[0], -1) for name in names], axis=1
    )
    samples = np.concatenate(
        [cells.sum(axis=0)[None], resampled_sums(cells, table.document, seed, resamples)]
    )
    parts = np.split(samples, len(names), axis=1)
    return ResampledRun(
        sums={name: part.reshape(-1, *shape[1:]) for name, part in zip(names, parts, strict=True)},
        layers=table.layers,
        windows=table.windows,
        documents=table.documents,
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
