"""What claims are judged on: the run resampled, and the untrained model resampled."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headscope.findings.depth import final_third, middle_third
from headscope.findings.resampling.resampled_run import (
    ResampledRun,
    Samples,
    over_seeds,
    resample_run,
)
from headscope.findings.resampling.window_table import WindowTable
from headscope.measures.measure import Measure


@dataclass(frozen=True, eq=False)
class Evidence:
    """One stack of a run, with its nulls."""

    stack: str
    run: ResampledRun
    untrained: tuple[ResampledRun, ...]
    """The same model with random weights, one for each seed; empty where none was run."""
    results: xr.Dataset
    """The reduced arrays of the stack."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that were measured."""
        return self.run.layers

    @property
    def heads(self) -> int:
        """Heads of the widest layer."""
        return int(self.results["mean_distance"].notnull().sum("head").max())

    @property
    def middle_layers(self) -> tuple[int, ...]:
        """The middle third of the layers, by count."""
        return middle_third(self.layers)

    @property
    def final_layers(self) -> tuple[int, ...]:
        """The final third of the layers, by count."""
        return final_third(self.layers)

    def null(self, of: Callable[[ResampledRun], Samples]) -> Samples:
        """A number of the untrained model, over its seeds."""
        return over_seeds([of(run) for run in self.untrained])

    def null_largest(self, strength: Callable[[ResampledRun], np.ndarray]) -> float:
        """The largest value that any head of any seed of the untrained model has."""
        if not self.untrained:
            return -math.inf
        return float(np.nanmax([np.nanmax(strength(run)[0]) for run in self.untrained]))

    def name_head(self, index: int) -> str:
        """`layer 3 head 7` for a place in a per-head array."""
        heads = self.results.sizes["head"]
        return f"layer {self.layers[index // heads]} head {index % heads + 1}"


def evidence_of(
    stack: str,
    table: WindowTable,
    nulls: Sequence[WindowTable],
    results: xr.Dataset,
    seed: int,
) -> Evidence:
    """The evidence of a stack: the run and its nulls, resampled."""
    return Evidence(
        stack=stack,
        run=resample_run(table, seed),
        untrained=tuple(resample_run(null, seed + 1 + number) for number, null in enumerate(nulls)),
        results=results,
    )


def relative_excess(run: ResampledRun, measure: Measure) -> np.ndarray:
    """(value - expected) / (maximum - expected) of a measure, per sample and head."""
    return measure.relative_excess(run.per_head(measure), run.per_head_expected(measure))


def layer_span(layers: Sequence[int]) -> str:
    """Consecutive layers in words: `layers 5 to 8`."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    return f"layers {layers[0]} to {layers[-1]}"
