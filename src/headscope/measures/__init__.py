"""The measures, each a value: what it is, how it is reduced, its unit, and when it misleads.

To add one, write a file with a `Measure` and put it into `MEASURES` below. Tables, report, docs and
comparison take it from there. A measure of new columns needs these in `headscope.measures.columns`,
and the kernels that fill them.
"""

from headscope.measures.attention_share import (
    FIRST_ATTENTION,
    SEPARATOR_ATTENTION,
    SPECIAL_ATTENTION,
)
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.columns import TEXTS
from headscope.measures.focal import FOCAL_CONCENTRATION, FOCAL_EXCLUSIVENESS
from headscope.measures.mask_agreement import HIGH_ATTENTION_TOKENS, MASK_AGREEMENT
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.measure import Measure
from headscope.measures.norm import NORM, SEPARATOR_NORM
from headscope.measures.reach import HALF_DISTANCE
from headscope.measures.repetition import LEMMA_REPETITION, REPETITION, WORD_REPETITION
from headscope.measures.same_sentence import SAME_SENTENCE
from headscope.system.registry import Registry

MEASURES: Registry[Measure] = Registry(
    "measure",
    [
        MEAN_DISTANCE,
        HALF_DISTANCE,
        SAME_SENTENCE,
        BLOCK_CONTRAST,
        REPETITION,
        WORD_REPETITION,
        LEMMA_REPETITION,
        FOCAL_CONCENTRATION,
        FOCAL_EXCLUSIVENESS,
        SEPARATOR_ATTENTION,
        SPECIAL_ATTENTION,
        FIRST_ATTENTION,
        NORM,
        SEPARATOR_NORM,
        HIGH_ATTENTION_TOKENS,
        MASK_AGREEMENT,
    ],
)
"""In the order in which tables have them."""


def measured_columns() -> tuple[str, ...]:
    """Every column that a measure is made of, in order."""
    return tuple(dict.fromkeys(column for measure in MEASURES for column in measure.columns))


__all__ = ["MEASURES", "TEXTS", "Measure", "measured_columns"]
