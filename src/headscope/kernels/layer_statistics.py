"""All statistics of one layer over one batch of texts: the place where the kernels meet."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.kernels.column_mass import (
    attention_share,
    column_mass,
    scaled_column_mass,
    viewers,
)
from headscope.kernels.focal import focal_tokens
from headscope.kernels.pairs import Pairs, choose_pairs
from headscope.kernels.position_sums import sum_by_position
from headscope.kernels.similarity import similarity
from headscope.kernels.text_batch import PairBaseline, TokenLabels, same_sentence, same_token
from headscope.settings import Settings


@dataclass(frozen=True, slots=True)
class LayerStatistics:
    """What is kept of a layer and a batch: never Z, A or C themselves."""

    rows: dict[str, Float[Tensor, "batch head"]]
    """One number per text and head; columns of the run's Parquet shards."""
    sums: dict[str, Float[Tensor, "head ..."]]
    """Arrays summed over the texts of the batch, in float64."""


def layer_statistics(
    head_output: Float[Tensor, "batch head token d_head"],
    attention: Float[Tensor, "batch head token key"],
    *,
    queries: TokenLabels,
    keys: TokenLabels,
    baseline: PairBaseline,
    causal: bool,
    settings: Settings,
) -> LayerStatistics:
    """The statistics of every head of a layer, for each text and summed over texts.

    `queries` labels the tokens that the heads write for, `keys` those that they read; the two
    differ in cross attention only. `baseline` belongs to the queries.
    """
    matrix = similarity(head_output, settings.similarity, baseline.counted)
    pairs = choose_pairs(matrix, baseline.counted, settings.pairs)
    mass = column_mass(attention, queries.real)
    high_attention = _high_attention(mass, queries, keys, causal, settings)
    rows = _pair_rows(pairs, queries, baseline)
    rows |= _mask_rows(pairs, high_attention, baseline, queries is keys)
    rows |= _attention_rows(mass, keys, causal)
    sums = {
        "similarity_sum": sum_by_position(matrix, baseline.counted, settings.window_tokens),
        "distance_histogram": _distance_histogram(pairs, settings.window_tokens),
    }
    return LayerStatistics(rows, sums)


def _pair_rows(
    pairs: Pairs, queries: TokenLabels, baseline: PairBaseline
) -> dict[str, Float[Tensor, "batch head"]]:
    distance = pairs.distance
    focal = focal_tokens(pairs, queries.token_ids)
    return {
        "pairs": pairs.count(),
        "distance_sum": pairs.count(distance),
        "same_sentence_pairs": pairs.count(pairs.of(same_sentence(queries))),
        "same_sentence_expected": pairs.count(baseline.same_sentence[pairs.text, distance]),
        "repetition_pairs": pairs.count(pairs.of(same_token(queries))),
        "repetition_expected": pairs.count(baseline.same_token[pairs.text, distance]),
        "focal_token": focal.token_ids.double(),
        "focal_elements": focal.count,
        "focal_exclusiveness": focal.exclusiveness,
        "focal_texts": (focal.token_ids >= 0).double(),
    }


def _mask_rows(
    pairs: Pairs,
    high_attention: Tensor,
    baseline: PairBaseline,
    self_attention: bool,
) -> dict[str, Float[Tensor, "batch head"]]:
    """How far the mask of high-attention tokens and the pairs agree.

    Cross attention reads other tokens than it writes for: there is no mask over C to agree with.
    """
    high = high_attention.sum(-1).double()
    if not self_attention:
        missing = torch.full_like(high, torch.nan)
        return {"high_attention_tokens": high, "mask_pairs": missing, "mask_expected": missing}
    touched = (
        high_attention[pairs.text, pairs.head, pairs.i]
        | high_attention[pairs.text, pairs.head, pairs.j]
    )
    n = baseline.counted.sum(-1).double()[:, None]
    others = n - high
    share_touched = 1 - others * (others - 1) / (n * (n - 1)).clamp_min(1)
    return {
        "high_attention_tokens": high,
        "mask_pairs": pairs.count(touched),
        "mask_expected": pairs.count() * share_touched,
    }


def _attention_rows(
    mass: Float[Tensor, "batch head key"], keys: TokenLabels, causal: bool
) -> dict[str, Float[Tensor, "batch head"]]:
    first = torch.zeros_like(keys.real)
    first[:, 0] = True
    return {
        "separator_attention": attention_share(mass, keys.separator & ~keys.special).double(),
        "special_attention": attention_share(mass, keys.special).double(),
        "first_attention": attention_share(mass, first).double(),
    }


def _high_attention(
    mass: Float[Tensor, "batch head key"],
    queries: TokenLabels,
    keys: TokenLabels,
    causal: bool,
    settings: Settings,
) -> Tensor:
    scaling = keys.counted(settings.special_tokens).clone()
    if causal and not settings.special_tokens:
        # Causal models use the first token as a sink, whatever it is: counted apart, like the
        # special tokens, in `first_attention`.
        scaling[:, 0] = False
    seen_by = viewers(queries.real, mass.shape[-1], causal=causal).to(mass.dtype)
    return scaled_column_mass(mass, scaling, seen_by) >= settings.attention_threshold


def _distance_histogram(pairs: Pairs, window_tokens: int) -> Float[Tensor, "head distance"]:
    index = pairs.head * window_tokens + pairs.distance
    counts = torch.bincount(index, minlength=pairs.heads * window_tokens)
    return counts.view(pairs.heads, window_tokens).double()
