"""The quantities that are compared: measures in a form that means the same in every model."""

from collections.abc import Sequence
from dataclasses import dataclass

from headscope.findings.resampling.resampled_run import ResampledRun, Samples
from headscope.measures import Measure
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.repetition import REPETITION
from headscope.measures.same_sentence import SAME_SENTENCE
from headscope.measures.separator_attention import SEPARATOR_ATTENTION


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measure pooled over heads, or its excess: the measure minus its expectation."""

    name: str
    title: str
    unit: str
    measure: Measure
    beyond_expected: bool = False
    """Whether the expectation of the measure is subtracted."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a run that it is computed from."""
        measure = self.measure
        expected = (measure.expected,) if self.beyond_expected and measure.expected else ()
        return (measure.numerator, measure.denominator, *expected)

    def samples(self, resampled: ResampledRun, layers: Sequence[int]) -> Samples:
        """The quantity over all heads of some layers: in the run itself, then in each sample.

        Args:
            resampled: The stack, with at least `columns`.
            layers: The numbers of the layers; NaN without any.
        """
        if self.beyond_expected:
            return resampled.excess(self.measure, layers)
        return resampled.pooled(self.measure, layers)


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
    # Over the heads of a layer, exclusiveness adds up to the number of distinct focal tokens. Its
    # mean is that number as a share of the heads, which is comparable between models.
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
