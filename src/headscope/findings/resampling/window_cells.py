"""Intervals of numbers that were measured window by window: ratios of sums, resampled by document.

For studies (`headscope.measuring.study`): given a numerator and a denominator of each window, such
as nats and predicted tokens, gives their ratio over all windows, its interval, and how reliably it
ranks what it was measured of.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from headscope.findings.resampling.bootstrap import Interval, draw_documents, interval
from headscope.findings.resampling.documents import document_numbers
from headscope.findings.resampling.false_discovery import false_discovery, upper_p_values
from headscope.findings.resampling.resampled_run import sum_by_document
from headscope.runs.folder import RunFolder

SPLITS = 100
"""Number of random halves of the documents over which reliability is averaged."""


@dataclass(frozen=True, eq=False)
class WindowRatios:
    """Ratios of sums over windows, one for each cell."""

    samples: Float64[np.ndarray, "sample cell"]
    """In all windows (first), and in each bootstrap sample of documents."""
    documents: int
    numerators: Float64[np.ndarray, "document cell"]
    denominators: Float64[np.ndarray, "document cell"]

    @property
    def values(self) -> Float64[np.ndarray, " cell"]:
        """The ratios."""
        values: Float64[np.ndarray, " cell"] = self.samples[0]
        return values

    def intervals(self) -> list[Interval]:
        """The ratios with their intervals; NaN where there are too few documents."""
        return [interval(float(column[0]), column[1:], self.documents) for column in self.samples.T]

    def above_zero(self, rate: float = 0.05) -> Bool[np.ndarray, " cell"]:
        """Which ratios are above zero, at most `rate` of them wrongly (Benjamini-Hochberg).

        Args:
            rate: The false discovery rate.
        """
        if self.documents < 2:
            return np.zeros(len(self.values), dtype=bool)
        p_values = upper_p_values(self.values, self.samples[1:], self.documents)
        return false_discovery(p_values, rate)

    def reliability(self, seed: int = 0) -> float:
        """How well the ranking of the cells would agree with that on as many other documents.

        Documents are split into random halves, the two rankings of the cells are correlated
        (Spearman), and the mean correlation over many splits is stepped up from half of the
        documents to all of them (Spearman-Brown: 2r / (1 + r)). NaN with fewer than four documents
        or three cells.

        Args:
            seed: Of the splits.
        """
        if self.documents < 4 or self.numerators.shape[1] < 3:
            return float("nan")
        from scipy.stats import rankdata  # slow to import, and few ask for this

        rng = np.random.default_rng(seed)
        correlations = []
        for _ in range(SPLITS):
            order = rng.permutation(self.documents)
            halves = order[: self.documents // 2], order[self.documents // 2 :]
            one, other = (
                rankdata(
                    self.numerators[half].sum(0) / self.denominators[half].sum(0), nan_policy="omit"
                )
                for half in halves
            )
            if one.std() > 0 and other.std() > 0:
                correlations.append(float(np.corrcoef(one, other)[0, 1]))
        if not correlations:
            return float("nan")
        mean = float(np.mean(correlations))
        return 2 * mean / (1 + mean) if mean > -1 else -1.0


def resample_windows(
    numerator: Float64[np.ndarray, "window cell"],
    denominator: Float64[np.ndarray, "window _"],
    documents: Int64[np.ndarray, " window"],
    seed: int,
) -> WindowRatios:
    """The ratio of two sums over windows, for each cell, with bootstrap samples of documents.

    A cell of a window without a value (NaN in either) counts in neither sum.

    Args:
        numerator: What each window adds.
        denominator: What it is divided by: for each cell, or one for all.
        documents: The document of each window.
        seed: Of the draws.
    """
    below = np.broadcast_to(denominator, numerator.shape)
    known = np.isfinite(numerator) & np.isfinite(below)
    present, place = np.unique(documents, return_inverse=True)
    above, below = (
        sum_by_document(np.where(known, values, 0.0), place, len(present))
        for values in (numerator, below)
    )
    draws = draw_documents(len(present), seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        samples = draws.sums(above) / draws.sums(below)
    return WindowRatios(samples, len(present), above, below)


def documents_of(run: RunFolder, windows: Int64[np.ndarray, " window"]) -> Int64[np.ndarray, " _"]:
    """The number of the document of some windows of a run; copies of a text are one document.

    Args:
        run: A run or a study.
        windows: Their numbers in it.
    """
    (numbers,) = document_numbers(run.windows())
    documents: Int64[np.ndarray, " _"] = numbers[windows]
    return documents
