"""Heads built by hand, whose every measure is known before it is measured."""

from dataclasses import dataclass

import numpy as np
import torch

from tests.naive import NaiveText

SENTENCES = (10, 14, 8, 12)
"""Tokens of the sentences of a planted text, its separator included."""
STOP = 999
HUB = 5
"""Where the hub token of the hub head stands."""


@dataclass(frozen=True)
class PlantedText:
    """A text of four sentences between two special tokens, some of its tokens repeated."""

    text: NaiveText

    @property
    def n(self) -> int:
        return self.text.n


def planted_text(seed: int) -> PlantedText:
    """Each sentence ends with a stop; six tokens of the text occur three times each."""
    rng = np.random.default_rng(seed)
    inner = sum(SENTENCES)
    ids = 100 + np.arange(inner)
    repeated = rng.permutation(np.setdiff1d(np.arange(inner), [HUB - 1]))[:18].reshape(6, 3)
    for places in repeated:
        ids[places] = 100 + places[0]
    ends = np.cumsum(SENTENCES) - 1
    ids[ends] = STOP
    sentence = np.repeat(np.arange(len(SENTENCES)), SENTENCES)
    n = inner + 2

    def framed(values: np.ndarray, edge: int) -> list[int]:
        return [edge, *values.tolist(), edge]

    stops = np.isin(np.arange(inner), ends)
    return PlantedText(
        NaiveText(
            token_ids=[1, *ids.tolist(), 2],
            sentence_ids=framed(sentence, -1),
            special=[True] + [False] * inner + [True],
            special_separator=[False] * (inner + 1) + [True],
            separator=[False, *stops.tolist(), False],
            form_ids=framed(ids, -1),
            lemma_ids=[-1] * n,
            kinds=[0, *np.where(stops, 1, 4).tolist(), 7],
        )
    )


def one_hot(groups: list[int]) -> torch.Tensor:
    """Vectors that are equal within a group and orthogonal between groups; -1 is a group alone."""
    unique = {group: place for place, group in enumerate(sorted({g for g in groups if g >= 0}))}
    width = 2 * len(groups)
    vectors = torch.zeros(len(groups), width, dtype=torch.float64)
    for token, group in enumerate(groups):
        vectors[token, unique[group] if group >= 0 else len(unique) + token] = 1
    return vectors


def planted_heads(text: NaiveText, seed: int) -> dict[str, torch.Tensor]:
    """z of each planted head, token by d_head, all of one width."""
    n = text.n
    # Twins five tokens apart: every second block of five is bound to the block before it.
    twins = [token - 5 if (token // 5) % 2 else token for token in range(n)]
    hub = torch.zeros(n, n + 1, dtype=torch.float64)
    hub[torch.arange(n), torch.arange(n)] = 1e-3
    hub[:, -1] = 1e-3
    hub[HUB, -1] = 1.0
    heads = {
        "repetition": one_hot(text.token_ids),
        "sentence": one_hot(text.sentence_ids),
        "twins": one_hot(twins),
        "hub": hub,
        "noise": torch.tensor(np.random.default_rng(seed).normal(0, 1, (n, 24))),
    }
    width = max(vectors.shape[1] for vectors in heads.values())
    return {
        name: torch.nn.functional.pad(vectors, (0, width - vectors.shape[1]))
        for name, vectors in heads.items()
    }
