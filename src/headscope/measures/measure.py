"""What a measure is: a named ratio of sums over texts, with its meaning and its limits.

A kernel writes one number per text, layer and head into each column of a shard. A measure divides
the sum of one column by the sum of another. So there is one formula, whatever is summed over: all
texts of a head, all heads of a layer, a random subset, one domain, or a bootstrap sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TEXTS = "texts"
"""The column that counts texts: 1 in every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A ratio of two column sums."""

    name: str
    title: str
    """A few words for table heads and axes."""
    unit: str
    numerator: str
    denominator: str = TEXTS
    scale: float = 1.0
    """A constant factor of the ratio."""
    expected: str | None = None
    """The column with what the numerator would be without the effect; gives `NAME_expected`."""
    definition: str
    misleads: str
    """When the number says something else than a reader may think."""
    source: str = "arXiv 2512.21956"

    def value(self, sums: Mapping[str, Any]) -> NDArray[np.float64]:
        """The measure, from column sums of any one shape. NaN where nothing was counted."""
        return self.scale * ratio(sums[self.numerator], sums[self.denominator])

    def expected_value(self, sums: Mapping[str, Any]) -> NDArray[np.float64] | None:
        """What the measure would be without the effect; None where it has no expectation."""
        if self.expected is None:
            return None
        return self.scale * ratio(sums[self.expected], sums[self.denominator])


def ratio(numerator: Any, denominator: Any) -> NDArray[np.float64]:
    """numerator / denominator, NaN where the denominator is zero: never a plausible zero."""
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.asarray(denominator, dtype=np.float64)
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    quotient: NDArray[np.float64] = np.full(shape, np.nan)
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient
