"""At which step of a training a number changes fastest, and whether that is clear."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from headscope.findings.resampling.bootstrap import LEVEL, Interval
from headscope.findings.resampling.resampled_run import interval_of

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
