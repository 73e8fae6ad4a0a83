"""Which of many tests to reject: control of the false discovery rate."""

import numpy as np
from jaxtyping import Bool, Float64
from scipy.special import stdtr


def false_discovery(
    p_values: Float64[np.ndarray, " test"], rate: float = 0.05
) -> Bool[np.ndarray, " test"]:
    """Which tests are rejected so that at most `rate` of the rejections are false, on average.

    Tests without a p-value (NaN) are neither counted nor rejected. Source: Benjamini and Hochberg
    1995.
    """
    usable = np.isfinite(p_values)
    ordered = np.sort(p_values[usable])
    ranks = np.arange(1, len(ordered) + 1)
    passing = ordered <= rate * ranks / max(len(ordered), 1)
    bar = ordered[passing].max() if passing.any() else -np.inf
    rejected: Bool[np.ndarray, " test"] = usable & (p_values <= bar)
    return rejected


def upper_p_values(
    values: Float64[np.ndarray, " test"],
    samples: Float64[np.ndarray, "sample test"],
    documents: int | float,
) -> Float64[np.ndarray, " test"]:
    """How likely values at least this far above 0 would be if the truth lay at 0.

    From the bootstrap's standard error and Student's distribution: quantiles of a thousand samples
    cannot resolve the small p-values that many tests at once ask for.

    Args:
        values: Of each test.
        samples: The same in each bootstrap sample.
        documents: Number of documents that were drawn from, or the effective one.
    """
    spread = samples.std(axis=0, ddof=1) * np.sqrt(documents / (documents - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(stdtr(documents - 1, -values / spread))
