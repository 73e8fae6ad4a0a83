"""Windows as padded tensors of token labels, and the same with labels permuted, for the nulls.

Permuting the order of tokens would leave every spectrum and every similarity as it is. So labels
are permuted, while similarities stay where they are.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.window_batch import (
    SENTENCE,
    TOKEN,
    TokenLabels,
    WindowBatch,
    first_occurrence,
    pair_baseline,
)
from headscope.settings import Settings
from headscope.text.windows import Window


def label_tokens(windows: Sequence[Window], device: torch.device | str = "cpu") -> TokenLabels:
    """The labels of some windows, padded on the right to the longest of them.

    Args:
        windows: A batch.
        device: Where the tensors go.
    """
    lengths = np.array([window.n_tokens for window in windows])
    real = np.arange(lengths.max()) < lengths[:, None]

    # Its annotation has no shape: that would make a new class in every batch.
    def padded(rows: Sequence[NDArray[np.generic]], fill: int) -> Tensor:
        matrix = np.full(real.shape, fill, dtype=np.int64)
        matrix[real] = np.concatenate(rows)
        return torch.from_numpy(matrix).to(device)

    groups = [
        [window.sentence_ids for window in windows],
        [window.token_ids for window in windows],
        [window.form_ids for window in windows],
        [window.lemma_ids for window in windows],
    ]
    return TokenLabels(
        real=torch.from_numpy(real).to(device),
        special=padded([window.special for window in windows], 0).bool(),
        special_separator=padded([window.special_separator for window in windows], 0).bool(),
        separator=padded([window.separator for window in windows], 0).bool(),
        token_ids=padded([window.token_ids for window in windows], 0),
        kinds=padded([window.kinds for window in windows], 0),
        groups=torch.stack([padded(group, -1) for group in groups]),
    )


def shifted_right(labels: TokenLabels, start_token_id: int) -> TokenLabels:
    """The labels as the decoder of an encoder-decoder reads the window.

    A special start token comes first and every token moves one place to the right. The last one
    drops out, so that the length stays the same.

    Args:
        labels: As the encoder reads them.
        start_token_id: What the decoder reads first.
    """

    def shift(values: Tensor, first: int) -> Tensor:
        moved = values.roll(1, dims=-1)
        moved[..., 0] = first
        return moved

    groups = shift(labels.groups, -1)
    groups[TOKEN, :, 0] = start_token_id
    return TokenLabels(
        real=labels.real,
        special=shift(labels.special, True),
        special_separator=shift(labels.special_separator, False),
        separator=shift(labels.separator, False),
        token_ids=shift(labels.token_ids, start_token_id),
        kinds=shift(labels.kinds, 0),
        groups=groups,
    )


def window_batch(
    queries: TokenLabels,
    keys: TokenLabels,
    settings: Settings,
    window_numbers: NDArray[np.int64],
) -> WindowBatch:
    """The batch as a stack reads it.

    Permuted labels depend only on the number of a window and on the seed.

    Args:
        queries: Labels of the tokens that heads write for.
        keys: Labels of the tokens that heads read.
        settings: What is measured.
        window_numbers: The number of each window in its run.
    """
    counted = queries.counted(settings.special_tokens)
    return WindowBatch(
        queries=queries,
        keys=keys,
        counted=counted,
        baseline=pair_baseline(queries, counted),
        first=first_occurrence(queries.token_ids),
        permuted_sentences=_permuted_sentences(queries, counted, settings, window_numbers),
    )


def _permuted_sentences(
    labels: TokenLabels,
    counted: Bool[Tensor, "batch token"],
    settings: Settings,
    window_numbers: NDArray[np.int64],
) -> Int[Tensor, "batch token permutation"]:
    """Sentence ids under each permutation."""
    permutations = settings.label_permutations
    # The permutations of a token are adjacent in memory, since they are read together.
    sentences = np.empty((*counted.shape, permutations), dtype=np.int32)
    groups, inside = labels.groups[SENTENCE].cpu().numpy(), counted.cpu().numpy()
    for row, number in enumerate(window_numbers if permutations else ()):
        rng = np.random.default_rng([settings.seed, int(number)])
        ids = np.where(inside[row], groups[row], -1)
        sentences[row] = permute_sentences(ids, permutations, rng).T
    return torch.from_numpy(sentences).to(counted.device)


def permute_sentences(
    sentence_ids: Int[np.ndarray, " token"], permutations: int, rng: np.random.Generator
) -> Int[np.ndarray, "permutation token"]:
    """Sentence ids with the sentences in random order, their lengths kept.

    Since lengths are kept, so is the number of pairs within a sentence at each distance. Tokens
    without a sentence (-1) stay without one. A window of one sentence has only one order.

    Args:
        sentence_ids: Of the tokens of a window.
        permutations: Number of orders.
        rng: Where they come from.
    """
    inside = sentence_ids >= 0
    permuted = np.full((permutations, len(sentence_ids)), -1, dtype=np.int64)
    _, lengths = np.unique(sentence_ids[inside], return_counts=True)
    if len(lengths):
        order = rng.permuted(np.tile(np.arange(len(lengths)), (permutations, 1)), axis=1)
        ids = np.repeat(order.ravel(), lengths[order].ravel())
        permuted[:, inside] = ids.reshape(permutations, inside.sum())
    return permuted
