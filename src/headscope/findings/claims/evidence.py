"""What claims are judged on: the run resampled, and the untrained model resampled."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headscope.findings.resampling.resampled_run import ResampledRun, Samples, over_seeds
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
        """Heads of a layer."""
        return int(self.results["mean_distance"].notnull().sum("head").max())

    @property
    def middle_layers(self) -> tuple[int, ...]:
        """The middle third."""
        third = math.ceil(len(self.layers) / 3)
        start = (len(self.layers) - third) // 2
        return self.layers[start : start + third]

    @property
    def final_layers(self) -> tuple[int, ...]:
        """The final third."""
        return self.layers[-math.ceil(len(self.layers) / 3) :]

    def null(self, of: Callable[[ResampledRun], Samples]) -> Samples:
        """A number of the untrained model, over its seeds."""
        return over_seeds([of(run) for run in self.untrained])

    def null_largest(self, strength: Callable[[ResampledRun], np.ndarray]) -> float:
        """The largest value that any head of any seed of the untrained model has."""
        if not self.untrained:
            return -math.inf
        return float(np.nanmax([np.nanmax(strength(run)[0]) for run in self.untrained]))

    def name_head(self, index: int) -> str:
        """Layer and head of a place in a per-head array, for people."""
        heads = self.results.sizes["head"]
        return f"layer {self.layers[index // heads]} head {index % heads + 1}"


def relative_excess(run: ResampledRun, measure: Measure) -> np.ndarray:
    """Per head and sample, how far a measure is beyond its expectation, as a share."""
    return measure.relative_excess(run.per_head(measure), run.per_head_expected(measure))


def layer_span(layers: Sequence[int]) -> str:
    """Some layers in words."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    return f"layers {layers[0]} to {layers[-1]}"
