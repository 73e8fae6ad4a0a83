"""What is compared: the measures of the findings, in a form that means the same in every model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.measures import Measure
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.repetition import REPETITION
from headscope.measures.same_sentence import SAME_SENTENCE
from headscope.measures.separator_attention import SEPARATOR_ATTENTION


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measure, pooled over heads, or what it is beyond its expectation."""

    name: str
    title: str
    unit: str
    measure: Measure
    beyond_expected: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a run that it is made of."""
        measure = self.measure
        expected = (measure.expected,) if self.beyond_expected and measure.expected else ()
        return (measure.numerator, measure.denominator, *expected)

    def value(self, sums: Mapping[str, Any]) -> NDArray[np.float64]:
        """The quantity from column sums of any one shape."""
        value = self.measure.value(sums)
        expected = self.measure.expected_value(sums) if self.beyond_expected else None
        return value if expected is None else value - expected


QUANTITIES: tuple[Quantity, ...] = (
    Quantity("mean_distance", "mean distance", "tokens", MEAN_DISTANCE),
    Quantity(
        "same_sentence_excess",
        "same sentence beyond expected",
        "share of pairs",
        SAME_SENTENCE,
        beyond_expected=True,
    ),
    Quantity(
        "repetition_excess",
        "repeated token beyond expected",
        "share of pairs",
        REPETITION,
        beyond_expected=True,
    ),
    Quantity(
        "separator_attention", "attention on . ! ?", "share of attention", SEPARATOR_ATTENTION
    ),
    # Over the heads of a layer, exclusiveness adds up to the distinct focal tokens: its mean is
    # their number as a share of the heads, which models with any number of heads can be told by.
    Quantity(
        "distinct_focal_share", "distinct focal tokens", "share of heads", FOCAL_EXCLUSIVENESS
    ),
    Quantity(
        "block_contrast", "sentence block contrast", "standard deviations of C", BLOCK_CONTRAST
    ),
)

COLUMNS: tuple[str, ...] = tuple(
    dict.fromkeys(column for quantity in QUANTITIES for column in quantity.columns)
)
"""The columns of a run that a comparison reads."""
