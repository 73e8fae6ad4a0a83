"""Random texts and layers for the kernels, as plain lists and as padded tensors."""

import numpy as np
import torch

from headscope.kernels.window_batch import TokenLabels, WindowBatch
from headscope.measuring.labels import window_batch
from headscope.settings import Settings
from tests.naive import NaiveText

HEADS, D_HEAD = 3, 4


def random_text(rng: np.random.Generator, n: int, lemmas: bool = True) -> NaiveText:
    separator = rng.random(n) < 0.2
    special = np.zeros(n, dtype=bool)
    special[0] = special[-1] = True
    special_separator = special.copy()
    special_separator[0] = False
    sentences = np.cumsum(np.concatenate([[0], separator[:-1]]))
    sentences[special] = -1
    words = rng.integers(0, 6, n)
    words[special] = -1
    lemma_ids = np.where(special | (not lemmas), -1, words // 2)
    kinds = np.where(special, np.where(special_separator, 7, 0), rng.integers(1, 7, n))
    return NaiveText(
        token_ids=rng.integers(1, 9, n).tolist(),
        sentence_ids=sentences.tolist(),
        special=special.tolist(),
        special_separator=special_separator.tolist(),
        separator=separator.tolist(),
        form_ids=words.tolist(),
        lemma_ids=lemma_ids.tolist(),
        kinds=kinds.tolist(),
    )


def padded_batch(texts: list[NaiveText], settings: Settings) -> WindowBatch:
    longest = max(text.n for text in texts)

    def pad(values: list[list], fill) -> torch.Tensor:
        return torch.tensor([list(row) + [fill] * (longest - len(row)) for row in values])

    labels = TokenLabels(
        real=pad([[True] * text.n for text in texts], False),
        special=pad([text.special for text in texts], False),
        special_separator=pad([text.special_separator for text in texts], False),
        separator=pad([text.separator for text in texts], False),
        token_ids=pad([text.token_ids for text in texts], 0),
        kinds=pad([text.kinds for text in texts], 0),
        groups=torch.stack(
            [
                pad([getattr(text, name) for text in texts], -1)
                for name in ("sentence_ids", "token_ids", "form_ids", "lemma_ids")
            ]
        ),
    )
    return window_batch(labels, labels, settings, np.arange(len(texts)))


def random_layer(rng: np.random.Generator, texts: list[NaiveText], causal: bool = False):
    """Head output and attention of a layer in float64; padding keys get no attention."""
    longest = max(text.n for text in texts)
    z = torch.tensor(rng.normal(0.3, 1, (len(texts), HEADS, longest, D_HEAD)))
    scores = torch.tensor(rng.normal(0, 2, (len(texts), HEADS, longest, longest)))
    for row, text in enumerate(texts):
        scores[row, :, :, text.n :] = -torch.inf
    if causal:
        scores += torch.full((longest, longest), -torch.inf, dtype=scores.dtype).triu(1)
    return z, scores.softmax(-1)
