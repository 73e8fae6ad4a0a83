"""Maps under which squared distances between states are distances in the dependency tree.

A linear map B per layer, of rank 64 at most, is fitted so that |B(x - y)|² is the number of edges
between two words of a sentence: the mean over sentences of the mean absolute error over their pairs
is brought down by gradient descent (AdamW). Maps of all layers are fitted at once, each by itself.
Source: Hewitt and Manning 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

RANK = 64
STEPS = 300
RATE = 0.08
"""Of the size of the first weights, so that it suits states of any width; falling to zero."""
DECAY = 0.01
"""Share of the weights that is taken away at each step, falling likewise: with a few hundred
sentences, maps that were not held back found fewer edges of trees of other documents."""
BATCH = 20
"""Sentences."""
SEED = 0


@dataclass(frozen=True, eq=False, slots=True)
class TreeExample:
    """A sentence that maps are fitted to."""

    states: Float[Tensor, "layer word d_model"]
    distances: Int64[np.ndarray, "word word"]


def fit_tree_maps(examples: Sequence[TreeExample]) -> Float[Tensor, "layer d_model rank"] | None:
    """The maps of all layers; None with fewer than two sentences.

    Args:
        examples: Sentences, with states of any one scale.
    """
    if len(examples) < 2:
        return None
    layers, _, width = examples[0].states.shape
    rank = min(RANK, width)
    generator = torch.Generator().manual_seed(SEED)
    # So that the first distances are of the size of those in trees: about four edges.
    size = 2 / (rank * width) ** 0.5
    maps = (size * torch.randn(layers, width, rank, generator=generator)).requires_grad_()
    rate = RATE * size
    optimiser = torch.optim.AdamW([maps], lr=rate, weight_decay=DECAY / rate)
    order: list[int] = []
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - step / STEPS)
        if len(order) < BATCH:
            order += torch.randperm(len(examples), generator=generator).tolist()
        batch = _Batch.of([examples[order.pop()] for _ in range(min(BATCH, len(order)))])
        optimiser.zero_grad()
        batch.error(maps).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    fitted: Float[Tensor, "layer d_model rank"] = maps.detach()
    return fitted


def tree_distances(
    maps: Float[Tensor, "layer d_model rank"], states: Float[Tensor, "layer word d_model"]
) -> Float[Tensor, "layer word word"]:
    """The distances between words under the maps.

    Args:
        maps: From `fit_tree_maps`.
        states: Of the words of a sentence.
    """
    return _squared_distances(torch.einsum("lwd,ldr->lwr", states.float(), maps))


def _squared_distances(
    points: Float[Tensor, "... word rank"],
) -> Float[Tensor, "... word word"]:
    lengths = points.square().sum(-1)
    products = points @ points.transpose(-1, -2)
    return (lengths[..., None] + lengths[..., None, :] - 2 * products).clamp_min(0)


@dataclass(frozen=True, eq=False, slots=True)
class _Batch:
    """Sentences, padded to the longest."""

    states: Float[Tensor, "layer sentence word d_model"]
    distances: Float[Tensor, "sentence word word"]
    real: Bool[Tensor, "sentence word"]

    @classmethod
    def of(cls, examples: Sequence[TreeExample]) -> "_Batch":
        lengths = [example.states.shape[1] for example in examples]
        layers, _, width = examples[0].states.shape
        states = torch.zeros(layers, len(examples), max(lengths), width)
        distances = torch.zeros(len(examples), max(lengths), max(lengths))
        real = torch.zeros(len(examples), max(lengths), dtype=torch.bool)
        for place, (example, n) in enumerate(zip(examples, lengths, strict=True)):
            states[:, place, :n] = example.states
            distances[place, :n, :n] = torch.from_numpy(example.distances)
            real[place, :n] = True
        return cls(states, distances, real)

    def error(self, maps: Float[Tensor, "layer d_model rank"]) -> Float[Tensor, ""]:
        """The mean over sentences of the mean error of their pairs, added up over layers."""
        points = torch.einsum("lswd,ldr->lswr", self.states, maps)
        pairs = self.real[:, :, None] & self.real[:, None, :]
        error = ((_squared_distances(points) - self.distances).abs() * pairs).sum((-1, -2))
        return (error / pairs.sum((-1, -2))).mean(-1).sum()
