"""Windows as padded tensors of labels: where text meets torch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.labels import SENTENCE, TOKEN, TokenLabels
from headscope.kernels.permutations import permute_sentences, permute_tokens
from headscope.kernels.text_batch import TextBatch, first_occurrence, pair_baseline
from headscope.settings import Settings
from headscope.text.windows import Window


def label_tokens(windows: Sequence[Window], device: torch.device | str = "cpu") -> TokenLabels:
    """The labels of some windows, padded on the right to the longest of them."""
    lengths = np.array([window.n_tokens for window in windows])
    real = np.arange(lengths.max()) < lengths[:, None]

    # No shape in its annotation: that would be a new class, made in every batch.
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
        separator=padded([window.separator for window in windows], 0).bool(),
        token_ids=padded([window.token_ids for window in windows], 0),
        kinds=padded([window.kinds for window in windows], 0),
        groups=torch.stack([padded(group, -1) for group in groups]),
    )


def shifted_right(labels: TokenLabels, start_token_id: int) -> TokenLabels:
    """The labels as the decoder of an encoder-decoder reads the text.

    A special start token comes first and every token moves one place to the right; the last one
    drops out, so that the length stays.
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
        separator=shift(labels.separator, False),
        token_ids=shift(labels.token_ids, start_token_id),
        kinds=shift(labels.kinds, 0),
        groups=groups,
    )


def text_batch(
    queries: TokenLabels,
    keys: TokenLabels,
    settings: Settings,
    text_numbers: NDArray[np.int64],
) -> TextBatch:
    """The batch as a stack reads it. Random labels depend on a text's number and the seed alone."""
    counted = queries.counted(settings.special_tokens)
    sentences, tokens = _permuted_labels(queries, counted, settings, text_numbers)
    return TextBatch(
        queries=queries,
        keys=keys,
        counted=counted,
        baseline=pair_baseline(queries, counted),
        first=first_occurrence(queries.token_ids),
        permuted_sentences=sentences,
        permuted_tokens=tokens,
    )


def _permuted_labels(
    labels: TokenLabels,
    counted: Bool[Tensor, "batch token"],
    settings: Settings,
    text_numbers: NDArray[np.int64],
) -> tuple[Int[Tensor, "batch token permutation"], Int[Tensor, "batch token permutation"]]:
    """Sentences and tokens dealt out at random, so many times."""
    permutations = settings.label_permutations
    # The permutations of a token lie together: they are read together, pair by pair.
    sentences = np.empty((*counted.shape, permutations), dtype=np.int32)
    tokens = np.empty_like(sentences)
    groups, inside = labels.groups.cpu().numpy(), counted.cpu().numpy()
    for row, number in enumerate(text_numbers if permutations else ()):
        rng = np.random.default_rng([settings.seed, int(number)])
        ids = np.where(inside[row], groups[:, row], -1)
        sentences[row] = permute_sentences(ids[SENTENCE], permutations, rng).T
        tokens[row] = permute_tokens(ids[TOKEN], permutations, rng).T
    return (
        torch.from_numpy(sentences).to(counted.device),
        torch.from_numpy(tokens).to(counted.device),
    )
