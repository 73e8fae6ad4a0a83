"""The columns of a shard's rows and its summed arrays: what each holds, and how it is stored.

A kernel writes one number per window, stack, layer and head into each column. Columns are added up
over windows; measures are ratios of such sums. `headscope.measures.measure` says more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from headscope.system.registry import Registry

KEY_COLUMNS = ("text", "stack", "layer", "head")
"""What a row is about; every other column is a number."""

TEXTS = "texts"
"""The column that counts windows: 1 in every row."""

TOTAL = "total_"
"""Prefix of column sums: `total_pairs` is the sum of column `pairs` over all windows."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the rows."""

    name: str
    type: pa.DataType
    meaning: str
    """For the page of the run format."""
    summed: bool = True
    """False for keys and identities, which no sum makes sense of."""


_COUNT, _SHARE, _EXPECTED = pa.int64(), pa.float32(), pa.float64()

COLUMNS: Registry[Column] = Registry(
    "column",
    [
        Column("text", pa.int64(), "number of the window in its run, from 0", summed=False),
        Column("stack", pa.string(), "encoder, decoder or cross", summed=False),
        Column("layer", pa.int16(), "from 1", summed=False),
        Column("head", pa.int16(), "from 1", summed=False),
        Column(TEXTS, _COUNT, "1"),
        Column("pairs", _COUNT, "number of high-similarity pairs"),
        Column("distance_sum", _COUNT, "sum of their distances"),
        Column("distance_expected", _EXPECTED, "that sum for pairs drawn at random"),
        Column("same_sentence_pairs", _COUNT, "pairs inside one sentence"),
        Column("same_sentence_expected", _EXPECTED, "expected at their distances"),
        Column("repetition_pairs", _COUNT, "pairs of one token twice"),
        Column("repetition_expected", _EXPECTED, "expected at their distances"),
        Column("word_repetition_pairs", _COUNT, "pairs of one word twice"),
        Column("word_repetition_expected", _EXPECTED, "expected at their distances"),
        Column("lemma_repetition_pairs", _COUNT, "pairs of one lemma"),
        Column("lemma_repetition_expected", _EXPECTED, "expected at their distances"),
        Column("lemma_pairs", _COUNT, "pairs, in windows that have lemmas"),
        Column("focal_token", pa.int32(), "id of the focal token; -1 without pairs", summed=False),
        Column("focal_kind", pa.int8(), "its kind; -1 without pairs", summed=False),
        Column("focal_elements", _COUNT, "elements of pairs that are the focal token"),
        Column("focal_expected", _EXPECTED, "expected from its frequency"),
        Column("focal_exclusiveness", pa.float64(), "1 / heads of the layer with this focal token"),
        Column("focal_texts", _COUNT, "1 where there is a focal token"),
        Column(
            "high_attention_tokens", _COUNT, "tokens whose scaled column mass reaches the threshold"
        ),
        Column("mask_pairs", _COUNT, "pairs with a high-attention token"),
        Column("mask_expected", _EXPECTED, "expected from the number of such tokens"),
        Column("distinct_pairs", _COUNT, "pairs of two different tokens of the vocabulary"),
        Column(
            "common_token",
            pa.int32(),
            "id of the token that is in most of those pairs; -1 without",
            summed=False,
        ),
        Column("common_texts", _COUNT, "1 where there is a common token"),
        Column(
            "common_rank",
            _COUNT,
            "its rank by frequency in the window: 1 if none occurs more often",
        ),
        Column("common_pairs", _COUNT, "pairs of the common token with another one"),
        Column("common_expected", _EXPECTED, "expected from its frequency"),
        Column(
            "common_context_pairs",
            _COUNT,
            "those whose other element is within 5 tokens of an occurrence of the common token",
        ),
        Column("common_context_expected", _EXPECTED, "expected from the share of tokens that are"),
        Column("separator_attention", _SHARE, "share of attention on . ! ?"),
        Column(
            "special_separator_attention",
            _SHARE,
            "share of attention on [SEP], </s>, except where one is the first token",
        ),
        Column("start_attention", _SHARE, "share of attention on all other special tokens"),
        Column("special_attention", _SHARE, "share of attention on special tokens: their sum"),
        Column("first_attention", _SHARE, "share of attention on the first token"),
        Column("norm", _SHARE, "mean length of the head's vectors"),
        Column("norm_texts", _COUNT, "1 where `norm` is defined"),
        Column("separator_norm", _SHARE, "the same at . ! ?, relative to the window's mean"),
        Column("separator_norm_texts", _COUNT, "1 where `separator_norm` is defined"),
        Column(
            "diagonal_share",
            _SHARE,
            "share of the diagonal in the sum of squares of C, before the diagonal is set to 0",
        ),
        Column("diagonal_share_texts", _COUNT, "1 where `diagonal_share` is defined"),
        Column(
            "half_distance",
            _COUNT,
            "distance within which half of the positive similarity lies",
        ),
        Column(
            "half_distance_texts",
            _COUNT,
            "1 where `half_distance` is defined, which is nowhere in a minimal run",
        ),
        Column(
            "block_contrast",
            _SHARE,
            "similarity inside sentences minus that across, in standard deviations",
        ),
        Column(
            "block_contrast_texts",
            _COUNT,
            "1 where `block_contrast` is defined, which is nowhere in a minimal run",
        ),
    ],
)
"""Every column, in the order in which the page of the run format lists them."""


def column_type(name: str) -> pa.DataType | None:
    """How a column is stored; None for a column that headscope does not know."""
    return COLUMNS[name].type if name in COLUMNS else None


ARRAYS: Mapping[str, tuple[str, ...]] = {
    "similarity_sum": ("layer", "head", "variant", "position", "other_position"),
    "position_count": ("position", "other_position"),
    "aligned_sum": ("layer", "head", "offset", "other_offset"),
    "aligned_count": ("offset", "other_offset"),
    "similarity_by_distance": ("layer", "head", "distance"),
    "within_by_distance": ("layer", "head", "distance"),
    "distance_histogram": ("layer", "head", "distance"),
    "distance_baseline": ("distance",),
    "within_baseline": ("distance",),
    "element_kinds": ("layer", "head", "kind"),
    "focal_kinds": ("layer", "head", "kind"),
    "token_kinds": ("kind",),
    "same_sentence_permuted": ("layer", "head", "permutation"),
    "repetition_permuted": ("layer", "head", "permutation"),  # in runs before version 3
    "distinct_focal_tokens": ("layer", "distinct"),
}
"""The summed arrays and their dimensions; those of a sweep are layer, head and the threshold."""
