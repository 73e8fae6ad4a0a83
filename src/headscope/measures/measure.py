"""What a measure is: a named ratio of sums over windows, with its meaning and its limits.

A kernel writes one number per window, layer and head into each column of a shard. A measure divides
the sum of one column by the sum of another. So there is one formula, whatever is summed over: all
windows of a head, all heads of a layer, a random subset, one domain, or a bootstrap sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.measures.columns import TEXTS


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerTotal:
    """What a measure adds up to over the heads of a layer, as a column of the layer table."""

    name: str
    title: str
    form: str
    """How it is written, as in `format(value, form)`."""
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A ratio of two column sums.

    >>> share = Measure(name="half", title="half", unit="share", numerator="a", denominator="b",
    ...                 scale=0.5, definition="Half of a / b.", misleads="Never.")
    >>> share.value({"a": [1.0, 3.0, 0.0], "b": [2.0, 2.0, 0.0]})
    array([0.25, 0.75,  nan])
    """

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
    maximum: float = 1.0
    """The largest possible value, for `relative_excess`."""
    definition: str
    misleads: str
    """When the number says something else than a reader may think."""
    source: str = "arXiv 2512.21956"
    form: str = ".3f"
    """How it is written, as in `format(value, form)`."""
    in_findings: str | None = None
    """What it says of a layer, in a few words: then the table of findings in the terminal and in
    the report has a column for it. None: no column."""
    expected_in_findings: bool = True
    """Whether that table has a column for the expectation, too."""
    in_sweep: bool = False
    """Whether `headscope sweep` shows how it moves with the thresholds that it depends on."""
    layer_total: LayerTotal | None = None
    """What its sum over the heads of a layer is called; None where that means nothing."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is made of."""
        expected = () if self.expected is None else (self.expected,)
        return tuple(dict.fromkeys((self.numerator, self.denominator, *expected)))

    def value(self, sums: Mapping[str, Any]) -> NDArray[np.float64]:
        """The measure, from column sums of any one shape. NaN where nothing was counted."""
        return self.scale * ratio(sums[self.numerator], sums[self.denominator])

    def expected_value(self, sums: Mapping[str, Any]) -> NDArray[np.float64] | None:
        """What the measure would be without the effect; None where it has no expectation."""
        if self.expected is None:
            return None
        return self.scale * ratio(sums[self.expected], sums[self.denominator])

    def relative_excess(
        self, value: NDArray[np.float64], expected: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(value - expected) / (maximum - expected); NaN where the expectation is the maximum."""
        bounded = np.minimum(expected, self.maximum)
        return ratio(value - bounded, self.maximum - bounded)


def ratio(numerator: Any, denominator: Any) -> NDArray[np.float64]:
    """numerator / denominator, NaN where the denominator is zero: never a plausible zero."""
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.asarray(denominator, dtype=np.float64)
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    quotient: NDArray[np.float64] = np.full(shape, np.nan)
    np.divide(top, bottom, out=quotient, where=bottom != 0)
    return quotient
