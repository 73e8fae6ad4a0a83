"""The column sums of a run in every bootstrap sample, from which all intervals are made."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Float64, Int

from headscope.findings.resampling.bootstrap import (
    RESAMPLES,
    Draws,
    Interval,
    draw_documents,
    effective_number,
    interval,
)
from headscope.findings.resampling.window_table import WindowTable
from headscope.measures.measure import Measure

Samples = Float64[np.ndarray, " sample"]
"""A number in the run itself (first) and in each bootstrap sample (the rest)."""


@dataclass(frozen=True, eq=False)
class ResampledRun:
    """The sums over documents of one stack, in the run itself (sample 0) and in each resample.

    Sums are made when they are asked for, and kept: few questions need every head, and several ask
    for the same sums.
    """

    columns: Mapping[str, Float[np.ndarray, "document layer _"]]
    """What each document adds to each column, by head or with the heads added up. A cell that is
    NaN in any document is NaN in sums."""
    draws: Draws
    """Of the same documents."""
    layers: tuple[int, ...]
    windows: Int[np.ndarray, " document"]
    """Number of windows of each document."""
    _by_head: dict[str, Float64[np.ndarray, "sample cell"]] = field(default_factory=dict)
    _summed: dict[tuple[str, tuple[int, ...]], Samples] = field(default_factory=dict)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return int(self.draws.weights.shape[1])

    @property
    def effective_documents(self) -> float:
        """Number of documents, fewer where some have more windows than others."""
        return effective_number(self.windows)

    @property
    def heads(self) -> int:
        """Heads of the widest layer."""
        return int(max(self.columns[name].shape[2] for name in self.columns))

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
        return measure.value(self._sums_by_head((measure.numerator, measure.denominator)))

    def per_head_expected(
        self, measure: Measure
    ) -> Float64[np.ndarray, "sample head_of_any_layer"]:
        """The expectation of a measure for each head by itself."""
        return _expected(measure, self._sums_by_head(measure.columns))

    def total(self, column: str) -> float:
        """The sum of a column over all windows, layers and heads."""
        return float(np.nansum(self.columns[column]))

    def summed(self, column: str, layers: Sequence[int] | None = None) -> Samples:
        """The sum of a column over all heads of some layers (all of them when None)."""
        wanted = self.layers if layers is None else tuple(layers)
        if (column, wanted) not in self._summed:
            places = [self.layers.index(layer) for layer in wanted]
            per_document = self.columns[column][:, places].sum(axis=(1, 2), dtype=np.float64)
            self._summed[column, wanted] = self.draws.sums(per_document[:, None])[:, 0]
        return self._summed[column, wanted]

    def halves(self) -> "tuple[ResampledRun, ResampledRun]":
        """The run on every second document, and on the others."""
        every = np.arange(self.documents)
        one, other = (self._part(every[first::2]) for first in (0, 1))
        return one, other

    def beside(self, other: "ResampledRun") -> "ResampledRun":
        """The run on those of its documents that another run read, too.

        Args:
            other: Resampled along with this run.
        """
        return self._part(np.flatnonzero(np.isin(self.draws.numbers, other.draws.numbers)))

    def _part(self, documents: Int[np.ndarray, " some"]) -> "ResampledRun":
        columns = _SomeDocuments(self.columns, documents)
        return ResampledRun(columns, self.draws.of(documents), self.layers, self.windows[documents])

    def _of_layers(
        self, columns: Sequence[str], layers: Sequence[int] | None
    ) -> dict[str, Samples]:
        return {name: self.summed(name, layers) for name in columns}

    def _sums_by_head(
        self, columns: Sequence[str]
    ) -> dict[str, Float64[np.ndarray, "sample cell"]]:
        for name in columns:
            if name not in self._by_head:
                values = self.columns[name].astype(np.float64)
                self._by_head[name] = self.draws.sums(values.reshape(len(values), -1))
        return {name: self._by_head[name] for name in columns}


@dataclass(frozen=True, eq=False)
class _SomeDocuments(Mapping[str, Float[np.ndarray, "document layer _"]]):
    """Columns of some documents, copied when they are asked for: few are."""

    columns: Mapping[str, Float[np.ndarray, "document layer _"]]
    documents: Int[np.ndarray, " some"]

    def __getitem__(self, name: str) -> Float[np.ndarray, "some layer _"]:
        values: Float[np.ndarray, "some layer _"] = self.columns[name][self.documents]
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def resample_run(table: WindowTable, seed: int, resamples: int = RESAMPLES) -> ResampledRun:
    """A table's columns, ready to be summed over the run and over bootstrap samples of documents.

    Args:
        table: The columns of one stack. NaN counts as 0.
        seed: Of the draws.
        resamples: Number of bootstrap samples.
    """
    return resample_part(table, draw_documents(int(table.document.max()) + 1, seed, resamples))


def resample_part(table: WindowTable, draws: Draws) -> ResampledRun:
    """Windows of a run, resampled along with its documents.

    Args:
        table: Columns of some windows, numbered by the documents of the run. NaN counts as 0.
        draws: Of all documents of the run.
    """
    present, place = np.unique(table.document, return_inverse=True)
    columns = {
        name: sum_by_document(np.nan_to_num(values), place, len(present))
        for name, values in table.columns.items()
    }
    return ResampledRun(columns, draws.of(present), table.layers, np.bincount(place))


def resample_columns(
    columns: Mapping[str, Float64[np.ndarray, "document layer head"]],
    layers: tuple[int, ...],
    seed: int,
    resamples: int = RESAMPLES,
) -> ResampledRun:
    """The columns of whole documents, resampled.

    Args:
        columns: By name. A cell that is NaN in any document is NaN in all sums.
        layers: The numbers of the layers, in the order of their axis.
        seed: Of the draws: the same seed and number of documents give the same samples.
        resamples: Number of bootstrap samples.
    """
    documents = len(next(iter(columns.values())))
    draws = draw_documents(documents, seed, resamples)
    return ResampledRun(columns, draws, layers, np.ones(documents, np.int64))


def sum_by_document(
    values: Float[np.ndarray, "window *cell"], place: Int[np.ndarray, " window"], size: int
) -> Float[np.ndarray, "document *cell"]:
    """The sum over the windows of each document.

    Args:
        values: Of each window.
        place: The place of each window's document in the result.
        size: Number of documents.
    """
    if len(values) == size and np.array_equal(place, np.arange(size)):
        return values
    summed = np.zeros((size, *values.shape[1:]), values.dtype)
    np.add.at(summed, place, values)
    return summed


def interval_of(
    samples: Samples, documents: int | float, *, questions: int = 1, groups: int = 1
) -> Interval:
    """The value in the run with its interval.

    Args:
        samples: The value and its bootstrap samples.
        documents: Number of documents that were drawn from, or the effective one.
        questions: Number of intervals that are looked at together.
        groups: Number of parts of the documents that the value is a mean over.
    """
    return interval(float(samples[0]), samples[1:], documents, questions=questions, groups=groups)


def mean_over_seeds(
    seeds: Sequence[Samples],
    beside: Sequence[Samples] | None = None,
    *,
    expanded: float = 1.0,
    seed: int = 0,
) -> Samples:
    """The mean over untrained models; its samples vary with documents and with seeds.

    Seeds are a random effect: other random weights would have given another mean. The values of the
    seeds vary because their weights differ, and because each seed read other documents. What the
    trained model shows on the same documents explains part of the latter. The bootstrap shows the
    rest, since it adds the same once more. What ten seeds vary by is itself uncertain, so it is
    drawn, too: the variance from its chi-squared distribution, minus what that gives on average for
    documents alone. Where documents hardly matter, errors have Student's distribution. Source:
    Weerahandi 1993, generalized confidence intervals.

    Args:
        seeds: The number in each untrained model, in its share of the run and resampled along with
            it. At least two.
        beside: The number in the trained model, on the documents of each seed.
        expanded: How many times as wide as percentiles intervals will be made, for their number of
            documents. Errors of seeds have tails of their own: they are made smaller by as much.
        seed: Of the errors drawn.
    """
    stacked = np.stack(seeds)
    n = len(stacked)
    own = stacked if beside is None else stacked - _explained(stacked, np.stack(beside))
    # A number that no seed has is NaN.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        mean = np.nanmean(stacked, axis=0)
        between = np.nanvar(own[:, 0], ddof=1)
        drawn = float(np.nanmean(np.nanvar(own[:, 1:], axis=0, ddof=1)))
    rng = np.random.default_rng(seed)
    possible = (n - 1) * between / rng.chisquare(n - 1, size=len(mean) - 1)
    of_documents = max(0.0, drawn - between) * (n - 1) / max(n - 3, 1)
    of_seeds = np.maximum(0.0, possible - of_documents)
    mean[1:] += rng.standard_normal(len(mean) - 1) * np.sqrt(of_seeds / n) / expanded
    samples: Samples = mean
    return samples


def _explained(
    seeds: Float64[np.ndarray, "seed sample"], beside: Float64[np.ndarray, "seed sample"]
) -> Float64[np.ndarray, "seed sample"]:
    """What the trained model on the same documents says of each seed: a regression on samples."""
    both = np.isfinite(seeds) & np.isfinite(beside)
    if not both[:, 0].all():
        return np.zeros_like(seeds)

    def around(values: Float64[np.ndarray, "seed sample"]) -> Float64[np.ndarray, "seed resample"]:
        usable = np.where(both, values, np.nan)[:, 1:]
        return np.asarray(np.nan_to_num(usable - np.nanmean(usable, axis=1, keepdims=True)))

    ours, theirs = around(beside), around(seeds)
    slope = (ours * theirs).sum() / max((ours * ours).sum(), np.finfo(np.float64).tiny)
    explained: Float64[np.ndarray, "seed sample"] = slope * beside
    return explained


def _expected(
    measure: Measure, sums: Mapping[str, Float64[np.ndarray, "..."]]
) -> Float64[np.ndarray, "..."]:
    expected = measure.expected_value(sums)
    if expected is None:
        raise ValueError(f"{measure.name} has no expectation")
    return expected
