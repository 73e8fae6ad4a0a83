"""Training the boundary network on what heads wrote for texts with known sentence starts."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.segment.sentences.boundary_net import BoundaryNet, NetInput, NetShape

_CHUNK_TOKENS = 128
"""Tokens that are trained on together; tokens around them are seen as far as the net reaches."""
_APART = 32
"""Number of empty places between two texts, so that neither is context of the other."""


@dataclass(frozen=True, eq=False, slots=True)
class Examples:
    """Candidates with labels, and the tokens of all texts one after another."""

    outputs: Float[Tensor, "token output"]
    """What all heads wrote, in half precision."""
    signals: Float[Tensor, "candidate number"]
    surface: Float[Tensor, "candidate feature"]
    tokens: Int[Tensor, " candidate"]
    """The first token after the gap."""
    labels: Float[Tensor, " candidate"]
    text_sizes: tuple[int, ...]
    """The number of tokens of each text."""

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a network is trained."""

    epochs: int = 4
    batch: int = 16
    """Number of chunks of 128 tokens (for topics: of texts) per step."""
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    dropout: float = 0.4
    seed: int = 0


def fit_boundary_net(
    examples: Examples, shape: NetShape, settings: TrainingSettings
) -> BoundaryNet:
    """The network that predicts the labels; deterministic given the seed.

    Args:
        examples: What it is trained on.
        shape: Its sizes.
        settings: Epochs, learning rate, seed and so on.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        net = BoundaryNet(shape, settings.dropout)
        sample = examples.outputs[:: max(1, len(examples.outputs) // 50_000)].float()
        mean, scale = sample.mean(0), sample.std(0) + 1e-3
        net.signal_mean.copy_(examples.signals.float().mean(0))
        net.signal_scale.copy_(examples.signals.float().std(0) + 1e-3)
        places = _Places.of(examples)
        steps = settings.epochs * (len(places) // (_CHUNK_TOKENS * settings.batch) + 2)
        optimiser = torch.optim.AdamW(
            net.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, settings.learning_rate, total_steps=steps
        )
        net.train()
        for _ in range(settings.epochs):
            for firsts in _batches(len(places), settings.batch):
                odds, candidates = _score(net, examples, places, firsts, mean, scale)
                if not len(candidates):
                    continue
                loss = nn.functional.binary_cross_entropy_with_logits(
                    odds, examples.labels[candidates]
                )
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        net.eval()
    _fold(net, mean, scale)
    return net


def score_all(net: BoundaryNet, examples: Examples) -> Float[Tensor, " candidate"]:
    """The log odds that a network gives to all examples.

    Args:
        net: The trained network.
        examples: The candidates that are scored.
    """
    places = _Places.of(examples)
    found = torch.zeros(len(examples))
    with torch.inference_mode():
        for firsts in torch.arange(0, len(places), _CHUNK_TOKENS).split(16):  # type: ignore[no-untyped-call]
            odds, candidates = _score(net, examples, places, firsts)
            found[candidates] = odds
    # A candidate that shares its token with the next one has no place of its own.
    return found[places.candidates[places.of_token[examples.tokens]]]


@dataclass(frozen=True, eq=False, slots=True)
class _Places:
    """The tokens of all texts in a row, with empty places between the texts."""

    tokens: Int[Tensor, " place"]
    """The token there; -1 for none."""
    candidates: Int[Tensor, " place"]
    """The candidate just before that token; -1 for none."""
    of_token: Int[Tensor, " token"]

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def of(cls, examples: Examples) -> "_Places":
        sizes = torch.tensor(examples.text_sizes)
        texts = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
        of_token = torch.arange(len(texts)) + _APART * (texts + 1)
        tokens = torch.full((len(texts) + _APART * (len(sizes) + 1),), -1)
        tokens[of_token] = torch.arange(len(texts))
        candidates = torch.full_like(tokens, -1)
        candidates[of_token[examples.tokens]] = torch.arange(len(examples))
        return cls(tokens, candidates, of_token)


def _score(
    net: BoundaryNet,
    examples: Examples,
    places: _Places,
    firsts: Int[Tensor, " chunk"],
    mean: Float[Tensor, " output"] | None = None,
    scale: Float[Tensor, " output"] | None = None,
) -> tuple[Float[Tensor, " scored"], Int[Tensor, " scored"]]:
    """Log odds in the chunks that begin at some places, and the candidates they belong to.

    Head outputs are standardised first if a mean and a scale are given.
    """
    reach = net.shape.reach
    around = firsts[:, None] + torch.arange(-reach, _CHUNK_TOKENS + reach)
    beyond = (around < 0) | (around >= len(places))
    around = around.clamp(0, len(places) - 1)
    tokens = places.tokens[around].masked_fill(beyond, -1)
    candidates = places.candidates[around].masked_fill(beyond, -1)
    inside = (tokens >= 0).float()
    outputs = examples.outputs[tokens.clamp(min=0)].float()
    if mean is not None and scale is not None:
        outputs = (outputs - mean) / scale
    there = candidates.clamp(min=0)
    gaps = net.gaps(examples.signals[there].float(), examples.surface[there].float())
    seen = NetInput(net.projection(outputs), gaps * (candidates >= 0)[..., None], inside)
    odds = net(seen)[:, reach:-reach]
    candidates = candidates[:, reach:-reach]
    return odds[candidates >= 0], candidates[candidates >= 0]


def _batches(places: int, batch: int) -> Iterator[Int[Tensor, " chunk"]]:
    """The first places of chunks that cover all places, in random order, with a random shift."""
    shift = int(torch.randint(_CHUNK_TOKENS, (1,)))
    firsts = torch.arange(-shift, places, _CHUNK_TOKENS)
    yield from firsts[torch.randperm(len(firsts))].split(batch)  # type: ignore[no-untyped-call]


def _fold(
    net: BoundaryNet, mean: Float[Tensor, " output"], scale: Float[Tensor, " output"]
) -> None:
    """Make the projection take head outputs as they are, instead of standardised ones."""
    with torch.no_grad():
        net.projection.weight.copy_(net.projection.weight / scale)
        net.projection.bias.copy_(net.projection.bias - net.projection.weight @ mean)
