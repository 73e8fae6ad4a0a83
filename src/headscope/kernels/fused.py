"""All statistics of one layer over one batch of texts, in one compiled pass on the CPU."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.compiled import head_blocks as blocks
from headscope.kernels.aligned_sums import sentence_starts
from headscope.kernels.column_mass import column_mass
from headscope.kernels.focal import exclusiveness
from headscope.kernels.labels import GROUPS, LEMMA, TOKEN
from headscope.kernels.position_sums import into_bins
from headscope.kernels.similarity import similarity
from headscope.kernels.statistics import ALIGNED_TOKENS, KINDS, LayerStatistics
from headscope.kernels.text_batch import TextBatch
from headscope.kernels.token_rows import (
    Rows,
    attention_rows,
    count_kinds,
    defined,
    focal_rows,
    mask_rows,
    norm_rows,
    scaled_mass,
)
from headscope.settings import (
    SIMILARITY_VARIANTS,
    SWEEP_ATTENTION,
    SWEEP_PAIRS,
    PairRule,
    Settings,
)


def fused_statistics(
    head_output: Float[Tensor, "batch head token d_head"],
    attention: Float[Tensor, "batch head token key"],
    batch: TextBatch,
    *,
    causal: bool,
    settings: Settings,
) -> LayerStatistics:
    """What `vectorised_statistics` gives, in one pass over each matrix of similarities."""
    mass = column_mass(attention, batch.queries.real)
    scaled = scaled_mass(mass, batch, causal, settings)
    inputs = _inputs(head_output, scaled, batch, settings)
    outputs = _empty_outputs(inputs, settings)
    blocks.measure_heads(inputs, outputs)
    thresholds = torch.from_numpy(inputs.thresholds)
    high = (scaled[..., None] >= thresholds).sum(-2).double()
    by_rule = _rule_rows(outputs, high[..., :1].expand(-1, -1, len(SWEEP_PAIRS) + 1), batch)
    by_threshold = _threshold_rows(outputs, high, batch)

    rows = {column: values[..., 0] for column, values in by_rule.items()}
    rows["high_attention_tokens"] = by_threshold["high_attention_tokens"][..., 0]
    rows |= _group_rows(outputs, batch)
    rows |= _focal_rows(outputs, batch)
    rows |= attention_rows(mass, batch)
    rows |= norm_rows(head_output, batch)
    rows |= defined("half_distance", torch.from_numpy(outputs.half_distance))
    rows |= defined("block_contrast", torch.from_numpy(outputs.block_contrast))

    sweep = {f"pair_rule/{name}": values[..., 1:] for name, values in by_rule.items()}
    sweep |= {
        f"attention_threshold/{name}": values[..., 1:] for name, values in by_threshold.items()
    }
    return LayerStatistics(rows, _sums(outputs, rows, settings), sweep)


def _inputs(
    head_output: Float[Tensor, "batch head token d_head"],
    scaled: Float[Tensor, "batch head key"],
    batch: TextBatch,
    settings: Settings,
) -> blocks.Inputs:
    raw = similarity(head_output, "raw", batch.counted)
    rules = [settings.pairs, *SWEEP_PAIRS]
    kind = raw.dtype
    norms = head_output.to(kind).norm(dim=-1).clamp_min(1e-12)
    starts = torch.zeros_like(batch.counted)
    starts[tuple(sentence_starts(batch).T)] = True
    return blocks.Inputs(
        raw=raw.numpy(),
        centred=similarity(head_output, "centred", batch.counted).numpy(),
        inverse_norms=(1 / norms).numpy(),
        variant=SIMILARITY_VARIANTS.index(settings.similarity),
        counted=batch.counted.numpy(),
        groups=batch.queries.groups.numpy(),
        rates=batch.baseline.rates.numpy(),
        pair_counts=batch.baseline.pairs.numpy(),
        first=batch.first.numpy(),
        kinds=batch.queries.kinds.numpy(),
        starts=starts.numpy(),
        scaled_mass=scaled.to(kind).numpy(),
        thresholds=_array([settings.attention_threshold, *SWEEP_ATTENTION], kind),
        is_top=np.array([rule.kind == "top" for rule in rules]),
        rule_values=_array([rule.value for rule in rules], kind),
        taken=_numbers_taken(batch.counted, rules),
        permuted_sentences=batch.permuted_sentences.numpy(),
        permuted_tokens=batch.permuted_tokens.numpy(),
    )


def _array(values: list[float], kind: torch.dtype) -> NDArray[np.floating]:
    return torch.tensor(values, dtype=kind).numpy()


def _numbers_taken(
    counted: Bool[Tensor, "batch token"], rules: list[PairRule]
) -> NDArray[np.int64]:
    tokens = counted.sum(-1).tolist()
    return np.array(
        [[rule.number_taken(n * (n - 1) // 2) for rule in rules] for n in tokens], dtype=np.int64
    )


def _empty_outputs(inputs: blocks.Inputs, settings: Settings) -> blocks.Outputs:
    texts, heads, n, _ = inputs.raw.shape
    window = settings.window_tokens
    return blocks.Outputs(
        rules=np.zeros((texts, heads, len(inputs.is_top), blocks.RULE_COLUMNS)),
        groups=np.zeros((texts, heads, 2, 2)),
        touched=np.zeros((texts, heads, len(inputs.thresholds))),
        half_distance=np.zeros((texts, heads)),
        block_contrast=np.zeros((texts, heads)),
        position_sums=np.zeros((heads, len(SIMILARITY_VARIANTS), n, n)),
        aligned_sums=np.zeros((heads, 2 * ALIGNED_TOKENS, 2 * ALIGNED_TOKENS)),
        by_distance=np.zeros((heads, window)),
        within_by_distance=np.zeros((heads, window)),
        distances=np.zeros((heads, window)),
        element_kinds=np.zeros((heads, KINDS)),
        permuted_sentences=np.zeros((heads, inputs.permuted_sentences.shape[-1])),
        permuted_tokens=np.zeros((heads, inputs.permuted_tokens.shape[-1])),
    )


def _rule_rows(
    outputs: blocks.Outputs, high: Float[Tensor, "batch head rule"], batch: TextBatch
) -> dict[str, Float[Tensor, "batch head rule"]]:
    """The columns that depend on the pair rule, at each rule."""
    table = torch.from_numpy(outputs.rules)
    place = table[..., blocks.FOCAL_PLACE].long()
    pairs = table[..., blocks.PAIRS]
    return {
        "pairs": pairs,
        "distance_sum": table[..., blocks.DISTANCE_SUM],
        "distance_expected": pairs * batch.baseline.mean_distance[:, None, None],
        "same_sentence_pairs": table[..., blocks.SENTENCE_PAIRS],
        "same_sentence_expected": table[..., blocks.SENTENCE_EXPECTED],
        "repetition_pairs": table[..., blocks.TOKEN_PAIRS],
        "repetition_expected": table[..., blocks.TOKEN_EXPECTED],
        "focal_elements": table[..., blocks.FOCAL_ELEMENTS],
        "focal_exclusiveness": exclusiveness(place.mT).mT,
        "focal_texts": (place >= 0).double(),
    } | mask_rows(
        pairs, table[..., blocks.MASK_PAIRS], high, _n_counted(batch, pairs), cross=batch.cross
    )


def _threshold_rows(
    outputs: blocks.Outputs, high: Float[Tensor, "batch head threshold"], batch: TextBatch
) -> dict[str, Float[Tensor, "batch head threshold"]]:
    """The columns that depend on the attention threshold, at each threshold."""
    pairs = torch.from_numpy(outputs.rules)[..., :1, blocks.PAIRS].expand_as(high)
    touched = torch.from_numpy(outputs.touched)
    return {"high_attention_tokens": high} | mask_rows(
        pairs, touched, high, _n_counted(batch, high), cross=batch.cross
    )


def _n_counted(
    batch: TextBatch, like: Float[Tensor, "batch head value"]
) -> Float[Tensor, "batch head value"]:
    return batch.counted.sum(-1).double()[:, None, None].expand_as(like)


def _group_rows(outputs: blocks.Outputs, batch: TextBatch) -> Rows:
    table = torch.from_numpy(outputs.groups)
    rows: Rows = {}
    for index, group in enumerate(GROUPS[TOKEN + 1 :]):
        rows[f"{group}_repetition_pairs"] = table[:, :, index, 0]
        rows[f"{group}_repetition_expected"] = table[:, :, index, 1]
    has_lemmas = (batch.queries.groups[LEMMA] >= 0).any(-1, keepdim=True)
    rows["lemma_pairs"] = torch.from_numpy(outputs.rules)[:, :, 0, blocks.PAIRS] * has_lemmas
    return rows


def _focal_rows(outputs: blocks.Outputs, batch: TextBatch) -> Rows:
    own = torch.from_numpy(outputs.rules)[:, :, 0]
    return focal_rows(own[..., blocks.FOCAL_PLACE].long(), own[..., blocks.PAIRS], batch)


def _sums(outputs: blocks.Outputs, rows: Rows, settings: Settings) -> dict[str, Tensor]:
    window = settings.window_tokens
    positions = torch.from_numpy(outputs.position_sums)
    return {
        "similarity_sum": torch.stack(
            [into_bins(positions[:, v], window) for v in range(positions.shape[1])], dim=1
        ),
        "aligned_sum": torch.from_numpy(outputs.aligned_sums),
        "similarity_by_distance": torch.from_numpy(outputs.by_distance),
        "within_by_distance": torch.from_numpy(outputs.within_by_distance),
        "distance_histogram": torch.from_numpy(outputs.distances),
        "element_kinds": torch.from_numpy(outputs.element_kinds),
        "focal_kinds": count_kinds(rows["focal_kind"]),
        "same_sentence_permuted": torch.from_numpy(outputs.permuted_sentences),
        "repetition_permuted": torch.from_numpy(outputs.permuted_tokens),
    }
