"""A layer under every analysis choice: each variant of C with each pair rule, and what A shows.

The paper fixes neither the pair rule nor the variant of C, so a finding is looked at under all of
them. Beside the pairs of C stand the pairs of attention by the same rule: of its map, (A + A') / 2,
and of its rows, A A' in the same variant. What is in one set of pairs and not in the other shows
what similarity says beyond attention, and attention beyond similarity.

This is the readable definition, in torch, for any device; `headscope.kernels.cpu.choices` gives the
same by compiled code.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.kernels.common_token import common_rows, common_tokens
from headscope.kernels.distance_profile import block_contrast, distance_profile
from headscope.kernels.pairs import Pairs, choose_pairs, focal_tokens
from headscope.kernels.similarity import similarity
from headscope.kernels.token_rows import defined, exclusiveness, focal_rows
from headscope.kernels.window_batch import SENTENCE, TOKEN, WindowBatch, together
from headscope.settings import SIMILARITY_VARIANTS, PairRule

ChoiceRows = dict[str, Float[Tensor, "batch head variant rule"]]
"""A number per window, head and choice, by column."""


def choice_rows(
    head_output: Float[Tensor, "batch head token d_head"],
    attention: Float[Tensor, "batch head token key"],
    batch: WindowBatch,
    rules: Sequence[PairRule],
) -> ChoiceRows:
    """The columns of a layer for each variant of C and each pair rule.

    Args:
        head_output: Z.
        attention: A.
        batch: The windows.
        rules: The pair rules.
    """
    shown = attention_matrix(attention, batch)
    by_variant = []
    for variant in SIMILARITY_VARIANTS:
        matrix = similarity(head_output, variant, batch.counted)
        rows = similarity(attention, variant, batch.counted)
        profile = distance_profile(matrix, batch)
        contrast = defined("block_contrast", block_contrast(profile, batch))
        by_rule = []
        for rule in rules:
            ours, map_pairs, row_pairs = (
                choose_pairs(values, batch.counted, rule) for values in (matrix, shown, rows)
            )
            by_rule.append(_pair_rows(ours, map_pairs, row_pairs, batch) | contrast)
        by_variant.append(
            {name: torch.stack([row[name] for row in by_rule], dim=-1) for name in by_rule[0]}
        )
    return {
        name: torch.stack([columns[name] for columns in by_variant], dim=-2)
        for name in by_variant[0]
    }


def attention_matrix(
    attention: Float[Tensor, "batch head token key"], batch: WindowBatch
) -> Float[Tensor, "batch head token token"]:
    """(A + A') / 2, with a zero diagonal; NaN for cross attention, which pairs no tokens.

    No rule takes NaN. Zeros would all tie with the largest, and be taken.

    Args:
        attention: A.
        batch: The windows.
    """
    precise = attention.float() if attention.dtype != torch.float64 else attention
    if batch.cross:
        n = attention.shape[2]
        return precise.new_full((*attention.shape[:2], n, n), torch.nan)
    symmetric = (precise + precise.mT) / 2
    symmetric.diagonal(dim1=-2, dim2=-1).zero_()
    return symmetric


def _pair_rows(
    pairs: Pairs, shown: Pairs, alike: Pairs, batch: WindowBatch
) -> dict[str, Float[Tensor, "batch head"]]:
    """The columns of one choice: pairs of C, of the attention map, and of attention rows."""
    bound = together(batch.queries.groups[[SENTENCE, TOKEN]])
    rates = batch.baseline.rates
    focal = focal_tokens(pairs, batch.first)
    focal_row = focal_rows(focal.place, pairs.count(), batch)

    def beyond(ours: Pairs, *others: Pairs) -> dict[str, Float[Tensor, "batch head"]]:
        """Of the pairs that are not among others: those that belong together, minus expected."""
        alone = torch.ones(len(ours.i), dtype=torch.bool, device=ours.i.device)
        for other in others:
            alone &= ~_is_in(ours, other)
        excess = {}
        for group, name in ((SENTENCE, "sentence"), (TOKEN, "repetition")):
            expected = rates[group][ours.window, ours.distance]
            same = ours.of(bound[int(group == TOKEN)]).double()
            excess[name] = ours.count((same - expected) * alone)
        return excess

    own, of_map, of_rows = beyond(pairs, shown, alike), beyond(shown, pairs), beyond(alike, pairs)
    common = common_rows(common_tokens(pairs, batch), pairs.count(~pairs.of(bound[1])), batch)
    return {
        "pairs": pairs.count(),
        "distance_sum": pairs.count(pairs.distance),
        "distance_expected": pairs.count() * batch.baseline.mean_distance[:, None],
        "same_sentence_pairs": pairs.count(pairs.of(bound[0])),
        "same_sentence_expected": pairs.count(rates[SENTENCE][pairs.window, pairs.distance]),
        "repetition_pairs": pairs.count(pairs.of(bound[1])),
        "repetition_expected": pairs.count(rates[TOKEN][pairs.window, pairs.distance]),
        "focal_token": focal_row["focal_token"],
        "focal_exclusiveness": exclusiveness(focal.place),
        "focal_texts": (focal.place >= 0).double(),
        "distinct_pairs": common["distinct_pairs"],
        "common_pairs": common["common_pairs"],
        "common_expected": common["common_expected"],
        "map_pairs": shown.count(),
        "row_pairs": alike.count(),
        "map_shared": pairs.count(_is_in(pairs, shown)),
        "row_shared": pairs.count(_is_in(pairs, alike)),
        "sentence_beyond_attention": own["sentence"],
        "repetition_beyond_attention": own["repetition"],
        "sentence_of_map": of_map["sentence"],
        "repetition_of_map": of_map["repetition"],
        "sentence_of_rows": of_rows["sentence"],
        "repetition_of_rows": of_rows["repetition"],
    }


def _is_in(pairs: Pairs, others: Pairs) -> Bool[Tensor, " pair"]:
    """Which pairs are among others, of the same window and head."""

    def key(of: Pairs) -> Tensor:
        return ((of.window * of.heads + of.head) * of.tokens + of.i) * of.tokens + of.j

    return torch.isin(key(pairs), key(others))


def high_attention_rows(
    mass: Float[Tensor, "batch head key"], batch: WindowBatch, thresholds: Sequence[float]
) -> dict[str, Float[Tensor, "batch head threshold"]]:
    """High-attention tokens at each threshold, and how many of them are separators of each kind.

    The paper's column mass: what each token receives, relative to the largest of all tokens.

    Args:
        mass: What each key received from all real queries.
        batch: The windows.
        thresholds: Of the scaled column mass.
    """
    keys = batch.keys
    scaled = (mass * keys.real[:, None]) / mass.amax(-1, keepdim=True)
    high = scaled[..., None] >= torch.tensor(thresholds, dtype=scaled.dtype, device=scaled.device)
    high &= keys.real[:, None, :, None]

    def number(which: Bool[Tensor, "batch key"]) -> Float[Tensor, "batch head threshold"]:
        return (high & which[:, None, :, None]).sum(2).double()

    return {
        "high_tokens": number(keys.real),
        "high_separators": number(keys.separator & ~keys.special),
        "high_special_separators": number(keys.special_separator),
    }
