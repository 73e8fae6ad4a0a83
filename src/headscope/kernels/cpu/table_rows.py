"""The columns of a run, from what the compiled passes wrote of each text and head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headscope.kernels.cpu.jit.layout import (
    DISTANCE_SUM,
    FOCAL_ELEMENTS,
    FOCAL_PLACE,
    MASK_PAIRS,
    PAIRS,
    SENTENCE_EXPECTED,
    SENTENCE_PAIRS,
    TOKEN_EXPECTED,
    TOKEN_PAIRS,
    Outputs,
)
from headscope.kernels.pairs import exclusiveness
from headscope.kernels.token_rows import Rows, defined, focal_rows, mask_rows, norm_rows_of
from headscope.kernels.window_batch import GROUPS, LEMMA, TOKEN, WindowBatch

ByRule = dict[str, Float[Tensor, "batch head rule"]]
ByThreshold = dict[str, Float[Tensor, "batch head threshold"]]


@dataclass(frozen=True, slots=True)
class HeadTables:
    """What was written of each text and head, the heads of several layers side by side.

    All layers at once, since of a few texts each column is short: calling torch takes longer than
    what it computes.
    """

    batch: WindowBatch
    heads: list[int]
    """Of each layer."""
    rules: Float[Tensor, "batch head rule column"]
    groups: Float[Tensor, "batch head group 2"]
    touched: Float[Tensor, "batch head threshold"]
    high: Float[Tensor, "batch head threshold"]
    attention: Float[Tensor, "batch head 4"]
    lengths: Float[Tensor, "batch head 2"]
    half_distance: Float[Tensor, "batch head"]
    block_contrast: Float[Tensor, "batch head"]

    @classmethod
    def of(cls, batch: WindowBatch, layers: Sequence[Outputs]) -> "HeadTables":
        """The tables of some layers."""

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
        shares = self.attention[..., :3] / self.attention[..., 3:]
        rows["separator_attention"] = shares[..., 0]
        rows["special_attention"] = shares[..., 1]
        rows["first_attention"] = shares[..., 2]
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
