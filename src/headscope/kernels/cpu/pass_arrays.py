"""Between tensors and compiled passes: the arrays that passes read and write, and what they mean.

Given a batch and settings; gives the arrays of `jit.layout` that the passes over a layer need.
Given those arrays after the passes; gives the columns of the run, through `HeadTables`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.common_token import CommonTokens, common_rows
from headscope.kernels.cpu.jit.layout import (
    DISTANCE_SUM,
    FOCAL_ELEMENTS,
    FOCAL_PLACE,
    MASK_PAIRS,
    PAIRS,
    RULE_COLUMNS,
    SENTENCE_EXPECTED,
    SENTENCE_PAIRS,
    TOKEN_EXPECTED,
    TOKEN_PAIRS,
    Layer,
    Outputs,
    Tokens,
    Windows,
    padded,
)
from headscope.kernels.similarity import position_bins, sentence_starts
from headscope.kernels.statistics import ALIGNED_TOKENS, KINDS
from headscope.kernels.token_rows import (
    Rows,
    attention_rows_of,
    defined,
    exclusiveness,
    focal_rows,
    mask_rows,
    norm_rows_of,
    scaling_keys,
    scaling_viewers,
)
from headscope.kernels.window_batch import GROUPS, LEMMA, TOKEN, WindowBatch
from headscope.settings import PairRule, Settings


def windows_of(batch: WindowBatch, settings: Settings) -> Windows:
    """What passes need to know of the windows of a batch.

    Args:
        batch: The windows.
        settings: Which pair rules are measured.
    """
    counted = batch.counted.numpy()
    n = counted.shape[1]
    first = counted.argmax(1)
    end = np.where(counted.any(1), n - counted[:, ::-1].argmax(1), 0)
    starts = np.zeros_like(counted)
    starts[tuple(sentence_starts(batch).numpy().T)] = True
    return Windows(
        counted=counted,
        end_counted=end,
        has_holes=counted.sum(1) < end - first,
        groups=batch.queries.groups.int().numpy(),
        rates=batch.baseline.rates.numpy(),
        pair_counts=batch.baseline.pairs.numpy(),
        first=batch.first.numpy(),
        kinds=batch.queries.kinds.numpy(),
        starts=starts,
        permuted_sentences=batch.permuted_sentences.numpy(),
        is_top=np.array([rule.kind == "top" for rule in settings.rules]),
        taken=_numbers_taken(batch.counted, settings.rules),
    )


def tokens_of(batch: WindowBatch, dtype: torch.dtype, causal: bool, settings: Settings) -> Tokens:
    """What passes need to know of the tokens of a batch.

    Args:
        batch: The windows.
        dtype: Of the column mass.
        causal: Whether no query sees a later key.
        settings: How column mass is scaled, and whether special tokens count.
    """
    keys = batch.keys
    seen_by = scaling_viewers(batch, causal, settings).to(dtype)
    return Tokens(
        counted=batch.counted.numpy(),
        separators=(batch.counted & batch.queries.separator).numpy(),
        key_separators=(keys.separator & ~keys.special).numpy(),
        key_special_separators=keys.special_separator.numpy(),
        key_starts=(keys.special & ~keys.special_separator).numpy(),
        scaling=scaling_keys(batch, causal, settings).numpy(),
        viewers=seen_by.clamp_min(1).contiguous().numpy(),
        may_be_high=keys.counted(settings.special_tokens).numpy(),
    )


def empty_layer(
    vectors: Float[Tensor, "batch head token d_head"],
    mass: Float[Tensor, "batch head key"],
    settings: Settings,
) -> Layer:
    """What passes need to know of a layer; `measure_tokens` fills in scales and scaled mass.

    Args:
        vectors: What the heads wrote.
        mass: What each key received.
        settings: What is measured.
    """
    dtype = vectors.dtype
    each_position = settings.window_tokens == position_bins(settings.window_tokens)
    return Layer(
        scales=vectors.new_empty(vectors.shape[:3]).numpy(),
        # Raw and cosine similarity differ by the lengths of both vectors.
        scale_by_length=settings.similarity == "cosine",
        sum_scaled=each_position and not settings.minimal and settings.similarity != "centred",
        sum_own=each_position,
        profiles=settings.profiles,
        scaled_mass=mass.new_empty(mass.shape, dtype=dtype).numpy(),
        thresholds=_array(settings.attention_thresholds, dtype),
        rule_values=_array([rule.value for rule in settings.rules], dtype),
    )


def _array(values: list[float], dtype: torch.dtype) -> NDArray[np.floating]:
    return torch.tensor(values, dtype=dtype).numpy()


def _numbers_taken(
    counted: Bool[Tensor, "batch token"], rules: list[PairRule]
) -> NDArray[np.int64]:
    tokens = counted.sum(-1).tolist()
    taken = {n: [rule.number_taken(n * (n - 1) // 2) for rule in rules] for n in set(tokens)}
    return np.array([taken[n] for n in tokens], dtype=np.int64)


def empty_outputs(windows: Windows, heads: int, dtype: torch.dtype, settings: Settings) -> Outputs:
    """What the passes over a layer write to.

    Args:
        windows: What is known of the windows.
        heads: Number of heads of the layer.
        dtype: Of the vectors.
        settings: What is measured.
    """
    n_windows = len(windows.counted)
    window, thresholds = settings.window_tokens, len(settings.attention_thresholds)
    return Outputs(
        lengths=np.zeros((n_windows, heads, 2)),
        attention=np.zeros((n_windows, heads, 5)),
        high=np.zeros((n_windows, heads, thresholds)),
        rules=np.zeros((n_windows, heads, len(settings.rules), RULE_COLUMNS)),
        groups=np.zeros((n_windows, heads, 2, 2)),
        touched=np.zeros((n_windows, heads, thresholds)),
        common=np.zeros((n_windows, heads, 3)),
        half_distance=np.full((n_windows, heads), np.nan),
        block_contrast=np.full((n_windows, heads), np.nan),
        own_sums=_array([], dtype).reshape(0, 0, 0),
        scaled_sums=_array([], dtype).reshape(0, 0, 0),
        aligned_sums=np.zeros((heads, 2 * ALIGNED_TOKENS, 2 * ALIGNED_TOKENS)),
        by_distance=np.zeros((heads, window)),
        within_by_distance=np.zeros((heads, window)),
        distances=np.zeros((heads, window)),
        element_kinds=np.zeros((heads, KINDS)),
        permuted_sentences=np.zeros((heads, windows.permuted_sentences.shape[-1]), np.int32),
    )


def with_position_sums(outputs: Outputs, layer: Layer) -> Outputs:
    """The same, with new sums by position where the passes make them: they are not kept.

    Args:
        outputs: Of a layer.
        layer: Says which sums the passes make.
    """
    _, heads, n = layer.scales.shape
    shape, none, dtype = (heads, n, padded(n)), (heads, 0, 0), layer.scales.dtype
    return outputs._replace(
        own_sums=np.zeros(shape if layer.sum_own else none, dtype),
        scaled_sums=np.zeros(shape if layer.sum_scaled else none, dtype),
    )


ByRule = dict[str, Float[Tensor, "batch head rule"]]
ByThreshold = dict[str, Float[Tensor, "batch head threshold"]]


@dataclass(frozen=True, slots=True)
class HeadTables:
    """What passes wrote for each window and head, the heads of all layers side by side.

    All layers are handled at once because columns are short: a call of torch takes longer than what
    it computes.
    """

    batch: WindowBatch
    heads: list[int]
    """Of each layer."""
    rules: Float[Tensor, "batch head rule column"]
    groups: Float[Tensor, "batch head group 2"]
    touched: Float[Tensor, "batch head threshold"]
    high: Float[Tensor, "batch head threshold"]
    attention: Float[Tensor, "batch head 5"]
    common: Float[Tensor, "batch head 3"]
    lengths: Float[Tensor, "batch head 2"]
    half_distance: Float[Tensor, "batch head"]
    block_contrast: Float[Tensor, "batch head"]

    @classmethod
    def of(cls, batch: WindowBatch, layers: Sequence[Outputs]) -> "HeadTables":
        """The tables of some layers, from what passes wrote for each."""

        def joined(name: str) -> Tensor:
            return torch.from_numpy(np.concatenate([getattr(one, name) for one in layers], axis=1))

        return cls(
            batch=batch,
            heads=[one.rules.shape[1] for one in layers],
            rules=joined("rules"),
            groups=joined("groups"),
            touched=joined("touched"),
            high=joined("high"),
            attention=joined("attention"),
            common=joined("common"),
            lengths=joined("lengths"),
            half_distance=joined("half_distance"),
            block_contrast=joined("block_contrast"),
        )

    def rows(self, by_rule: ByRule) -> Rows:
        """The columns at the run's own rule and threshold."""
        rows = {name: values[..., 0] for name, values in by_rule.items()}
        rows["high_attention_tokens"] = self.high[..., 0]
        rows |= self._group_rows()
        own = self.rules[:, :, 0]
        rows |= focal_rows(own[..., FOCAL_PLACE].long(), own[..., PAIRS], self.batch)
        common = CommonTokens(self.common[..., 0].long(), self.common[..., 1], self.common[..., 2])
        rows |= common_rows(common, own[..., PAIRS] - own[..., TOKEN_PAIRS], self.batch)
        rows |= attention_rows_of(*(self.attention[..., :4] / self.attention[..., 4:]).unbind(-1))
        rows |= norm_rows_of(self.lengths[..., 0], self.lengths[..., 1], self.batch)
        rows |= defined("half_distance", self.half_distance)
        rows |= defined("block_contrast", self.block_contrast)
        return rows

    def by_rule(self) -> ByRule:
        """The columns that depend on the pair rule, at each rule."""
        table = self.rules
        place, pairs = table[..., FOCAL_PLACE].long(), table[..., PAIRS]
        alone = [exclusiveness(layer.mT).mT for layer in place.split_with_sizes(self.heads, dim=1)]
        return {
            "pairs": pairs,
            "distance_sum": table[..., DISTANCE_SUM],
            "distance_expected": pairs * self.batch.baseline.mean_distance[:, None, None],
            "same_sentence_pairs": table[..., SENTENCE_PAIRS],
            "same_sentence_expected": table[..., SENTENCE_EXPECTED],
            "repetition_pairs": table[..., TOKEN_PAIRS],
            "repetition_expected": table[..., TOKEN_EXPECTED],
            "focal_elements": table[..., FOCAL_ELEMENTS],
            "focal_exclusiveness": torch.cat(alone, dim=1),
            "focal_texts": (place >= 0).double(),
        } | self._mask_rows(pairs, table[..., MASK_PAIRS], self.high[..., :1])

    def by_threshold(self) -> ByThreshold:
        """The columns that depend on the attention threshold, at each threshold."""
        pairs = self.rules[..., :1, PAIRS].expand_as(self.high)
        return {"high_attention_tokens": self.high} | self._mask_rows(
            pairs, self.touched, self.high
        )

    def _mask_rows(
        self,
        pairs: Float[Tensor, "batch head value"],
        touched: Float[Tensor, "batch head value"],
        high: Float[Tensor, "batch head #value"],
    ) -> dict[str, Float[Tensor, "batch head value"]]:
        n_counted = self.batch.counted.sum(-1).double()[:, None, None]
        return mask_rows(
            pairs,
            touched,
            high.expand_as(pairs),
            n_counted.expand_as(pairs),
            cross=self.batch.cross,
        )

    def _group_rows(self) -> Rows:
        rows: Rows = {}
        for index, group in enumerate(GROUPS[TOKEN + 1 :]):
            rows[f"{group}_repetition_pairs"] = self.groups[:, :, index, 0]
            rows[f"{group}_repetition_expected"] = self.groups[:, :, index, 1]
        has_lemmas = (self.batch.queries.groups[LEMMA] >= 0).any(-1, keepdim=True)
        rows["lemma_pairs"] = self.rules[:, :, 0, PAIRS] * has_lemmas
        return rows
