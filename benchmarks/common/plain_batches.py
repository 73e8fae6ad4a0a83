"""Batches as someone without headscope makes them: padded ids, and what the analysis needs.

The groups are those that headscope makes for one thread, so that all ways use the same batch sizes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.measuring.batch import batches
from headscope.settings import Settings
from headscope.text.windows import Window


@dataclass(frozen=True)
class PlainBatch:
    """The tokens of some windows, padded on the right; every tensor is (batch, token)."""

    token_ids: Tensor
    attention_mask: Tensor
    counted: Tensor
    """True for the tokens that may form pairs: no padding, no special tokens."""
    sentence_ids: Tensor

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The arguments for a transformers model."""
        return {"input_ids": self.token_ids, "attention_mask": self.attention_mask}


def plain_batches(windows: Sequence[Window]) -> list[PlainBatch]:
    """All windows, in batches."""
    groups = batches(windows, max_tokens=Settings().batch_tokens)
    return [_padded([windows[place] for place in places]) for places in groups]


def _padded(windows: Sequence[Window]) -> PlainBatch:
    longest = max(window.n_tokens for window in windows)

    def matrix(rows: Sequence[NDArray[np.generic]], fill: int) -> Tensor:
        padded = np.full((len(rows), longest), fill, dtype=np.int64)
        for line, row in zip(padded, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(padded)

    return PlainBatch(
        token_ids=matrix([window.token_ids for window in windows], 0),
        attention_mask=matrix([np.ones(window.n_tokens) for window in windows], 0),
        counted=matrix([~window.special for window in windows], 0).bool(),
        sentence_ids=matrix([window.sentence_ids for window in windows], -1),
    )
