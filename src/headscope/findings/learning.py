"""At which step of a training a number changes fastest, and whether that is clear.

Several trainings of one model are pooled. The seed of a training decides its first weights and the
order of its texts, and is a random effect: other seeds would have given other numbers. All that is
asked of a training is pooled with the same draws, so that what a seed does to all steps alike
cancels in their differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from headscope.findings.resampling.bootstrap import LEVEL, Interval
from headscope.findings.resampling.resampled_run import interval_of

Trainings = Float64[np.ndarray, "training step sample"]
"""A number of each training at each step: in the run itself (first), then in bootstrap samples of
documents, the same documents for all."""

CLEAR_SHARE = LEVEL
"""A fastest change is clear if at least this share of the samples picks the same steps."""


@dataclass(frozen=True, slots=True)
class FastestChange:
    """The two neighbouring steps between which a number changes most per decade of steps."""

    start: int
    end: int
    change: Interval
    """From the one to the other. The interval is of these two steps, not of the largest of several
    changes: chance alone would more often put it beyond 0, if the samples need not agree, too."""
    per_decade: float
    """The change per tenfold number of steps."""
    share: float
    """Of the bootstrap samples, how many change fastest between the same steps."""

    @property
    def clear(self) -> bool:
        """Whether nearly all samples agree, and the change is beyond what chance gives."""
        beyond = self.change.low > 0 or self.change.high < 0
        return beyond and self.share >= CLEAR_SHARE


def decades(steps: Sequence[int]) -> Float64[np.ndarray, " step"]:
    """Where steps lie on an axis of decades that has a place for step 0.

    Step 0 is as far from the first step after it as that is from ten times as many.

    >>> decades([0, 10, 100]).tolist()
    [0.0, 1.0, 2.0]

    Args:
        steps: In rising order, from 0.
    """
    first = min((step for step in steps if step > 0), default=1)
    places = [0.0 if step == 0 else 1 + np.log10(step / first) for step in steps]
    return np.array(places, dtype=np.float64)


def fastest_change(
    samples: Float64[np.ndarray, "step sample"], steps: Sequence[int], documents: int | float
) -> FastestChange | None:
    """Where a number changes fastest; None if it is known at fewer than two steps.

    Args:
        samples: The number at each step: in the runs themselves (first), and in each sample.
        steps: In rising order.
        documents: Number of documents that were drawn from.
    """
    known = np.flatnonzero(np.isfinite(samples[:, 0]))
    if len(known) < 2:
        return None
    there = [steps[place] for place in known.tolist()]
    changes = np.diff(samples[known], axis=0)
    rates = changes / np.diff(decades(there))[:, None]
    speeds = np.abs(rates)
    usable = np.isfinite(speeds).all(axis=0)
    picked = speeds[:, usable].argmax(axis=0)
    place = int(picked[0])
    return FastestChange(
        start=there[place],
        end=there[place + 1],
        change=interval_of(changes[place], documents),
        per_decade=float(rates[place, 0]),
        share=float((picked[1:] == place).mean()) if len(picked) > 1 else float("nan"),
    )


def pool_trainings(
    samples: Trainings, *, expanded: float = 1.0, seed: int = 0
) -> Float64[np.ndarray, "step sample"]:
    """The mean over trainings; its samples vary with documents and, given two or more, with seeds.

    The error of the mean that seeds cause is drawn: a random combination of what each seed deviates
    by, all steps together, scaled by the square root of (n - 1) / chi-squared, since n seeds give
    their own variance only roughly. At each step, and for each difference between steps, that is
    Student's distribution with n - 1 degrees of freedom. What documents do to one seed and not to
    another counts twice, here and in the bootstrap, so that intervals are rather too wide.

    Args:
        samples: Of each training.
        expanded: How many times as wide as percentiles intervals will be made, for their number of
            documents. Errors of seeds have tails of their own: they are made smaller by as much.
        seed: Of the errors drawn.
    """
    n = len(samples)
    pooled: Float64[np.ndarray, "step sample"] = samples.mean(axis=0)
    if n < 2:
        return pooled
    rng = np.random.default_rng(seed)
    drawn = pooled.shape[1] - 1
    scale = np.sqrt((n - 1) / rng.chisquare(n - 1, size=drawn))
    weights = rng.standard_normal((n, drawn)) * scale / np.sqrt(n * (n - 1)) / expanded
    deviations = samples[:, :, 0] - samples[:, :, 0].mean(axis=0)
    pooled[:, 1:] += np.einsum("ts,td->sd", deviations, weights)
    return pooled
