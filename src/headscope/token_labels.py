"""Windows as padded tensors of labels: where text meets torch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Shaped
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.text_batch import TokenLabels
from headscope.text.windows import Window


def label_tokens(windows: Sequence[Window], device: torch.device | str = "cpu") -> TokenLabels:
    """The labels of some windows, padded on the right to the longest of them."""

    def padded(rows: Sequence[NDArray[np.generic]], fill: int) -> Shaped[Tensor, "batch token"]:
        longest = max(len(row) for row in rows)
        matrix = np.full((len(rows), longest), fill, dtype=np.int64)
        for line, row in zip(matrix, rows, strict=True):
            line[: len(row)] = row
        return torch.from_numpy(matrix).to(device)

    return TokenLabels(
        real=padded([np.ones(window.n_tokens) for window in windows], 0).bool(),
        special=padded([window.special for window in windows], 0).bool(),
        separator=padded([window.separator for window in windows], 0).bool(),
        token_ids=padded([window.token_ids for window in windows], 0),
        sentence_ids=padded([window.sentence_ids for window in windows], -1),
    )


def shifted_right(labels: TokenLabels, start_token_id: int) -> TokenLabels:
    """The labels as the decoder of an encoder-decoder reads the text.

    A special start token comes first and every token moves one place to the right; the last one
    drops out, so that the length stays.
    """

    def shift(values: Shaped[Tensor, "batch token"], first: int) -> Shaped[Tensor, "batch token"]:
        moved = values.roll(1, dims=1)
        moved[:, 0] = first
        return moved

    return TokenLabels(
        real=labels.real,
        special=shift(labels.special, True),
        separator=shift(labels.separator, False),
        token_ids=shift(labels.token_ids, start_token_id),
        sentence_ids=shift(labels.sentence_ids, -1),
    )
