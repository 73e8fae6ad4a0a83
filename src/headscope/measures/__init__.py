"""The measures, one a file: what each is, how it is reduced, its unit, and when it misleads.

To add one, write a file with a `Measure` and put it into `MEASURES` below. Tables, report, docs and
comparison take it from there. If it needs new columns, add them to `headscope.measures.columns` and
to the kernels that fill them.
"""

from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.columns import TEXTS
from headscope.measures.common_token import COMMON_TOKEN
from headscope.measures.common_token_context import COMMON_TOKEN_CONTEXT
from headscope.measures.common_token_rank import COMMON_TOKEN_RANK
from headscope.measures.diagonal_share import DIAGONAL_SHARE
from headscope.measures.first_attention import FIRST_ATTENTION
from headscope.measures.focal_concentration import FOCAL_CONCENTRATION
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS
from headscope.measures.half_distance import HALF_DISTANCE
from headscope.measures.high_attention_tokens import HIGH_ATTENTION_TOKENS
from headscope.measures.lemma_repetition import LEMMA_REPETITION
from headscope.measures.mask_agreement import MASK_AGREEMENT
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.measure import Measure
from headscope.measures.norm import NORM
from headscope.measures.repetition import REPETITION
from headscope.measures.same_sentence import SAME_SENTENCE
from headscope.measures.separator_attention import SEPARATOR_ATTENTION
from headscope.measures.separator_norm import SEPARATOR_NORM
from headscope.measures.special_attention import SPECIAL_ATTENTION
from headscope.measures.special_separator_attention import SPECIAL_SEPARATOR_ATTENTION
from headscope.measures.start_attention import START_ATTENTION
from headscope.measures.word_repetition import WORD_REPETITION
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
        COMMON_TOKEN,
        COMMON_TOKEN_CONTEXT,
        COMMON_TOKEN_RANK,
        SEPARATOR_ATTENTION,
        SPECIAL_SEPARATOR_ATTENTION,
        START_ATTENTION,
        SPECIAL_ATTENTION,
        FIRST_ATTENTION,
        NORM,
        SEPARATOR_NORM,
        DIAGONAL_SHARE,
        HIGH_ATTENTION_TOKENS,
        MASK_AGREEMENT,
    ],
)
"""In the order in which tables have them."""


def measured_columns() -> tuple[str, ...]:
    """Every column that a measure is made of, in order."""
    return tuple(dict.fromkeys(column for measure in MEASURES for column in measure.columns))


__all__ = ["MEASURES", "TEXTS", "Measure", "measured_columns"]
