"""Training the small network on what heads wrote for texts with known sentence starts."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.segment.boundary_net import BoundaryNet, NetShape

_CHUNK = 64
"""Candidates that stay together: neighbours share tokens, which need projecting only once."""


@dataclass(frozen=True, eq=False, slots=True)
class Examples:
    """Candidates with labels, and the tokens of all texts one after another."""

    outputs: Float[Tensor, "token output"]
    """What all heads wrote, in half precision."""
    signals: Float[Tensor, "candidate number"]
    surface: Float[Tensor, "candidate feature"]
    tokens: Int[Tensor, " candidate"]
    """The first token behind the gap."""
    text_first: Int[Tensor, " candidate"]
    text_behind: Int[Tensor, " candidate"]
    """The ends of the candidate's text, in tokens."""
    labels: Float[Tensor, " candidate"]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a network is trained."""

    epochs: int = 4
    batch: int = 1024
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.05
    dropout: float = 0.6
    seed: int = 0


def fit_net(examples: Examples, shape: NetShape, settings: TrainingSettings) -> BoundaryNet:
    """The network that predicts the labels; deterministic given the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        net = BoundaryNet(shape, settings.dropout)
        sample = examples.outputs[:: max(1, len(examples.outputs) // 50_000)].float()
        mean, scale = sample.mean(0), sample.std(0) + 1e-3
        net.signal_mean.copy_(examples.signals.float().mean(0))
        net.signal_scale.copy_(examples.signals.float().std(0) + 1e-3)
        batches = (len(examples) // _CHUNK) // (settings.batch // _CHUNK)
        optimiser = torch.optim.AdamW(
            net.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, settings.learning_rate, total_steps=settings.epochs * max(1, batches) + 1
        )
        net.train()
        for _ in range(settings.epochs):
            for chosen in _batches(len(examples), settings.batch):
                logits = score(net, examples, chosen, mean, scale)
                loss = nn.functional.binary_cross_entropy_with_logits(
                    logits, examples.labels[chosen]
                )
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        net.eval()
    _fold(net, mean, scale)
    return net


def score(
    net: BoundaryNet,
    examples: Examples,
    chosen: Int[Tensor, " chosen"],
    mean: Float[Tensor, " output"] | None = None,
    scale: Float[Tensor, " output"] | None = None,
) -> Float[Tensor, " chosen"]:
    """The log odds of some examples; head outputs are standardised first where asked for."""
    tokens = examples.tokens[chosen]
    ends = examples.text_first[chosen], examples.text_behind[chosen]
    around = tokens[:, None] + torch.arange(-net.shape.context, net.shape.context)
    around = around.clamp(0, len(examples.outputs) - 1)
    needed, _ = torch.unique(around, return_inverse=True)
    outputs = examples.outputs[needed].float()
    if mean is not None and scale is not None:
        outputs = (outputs - mean) / scale
    projected = net.dropout(net.projection(outputs))
    # Token numbers as places in `needed`; a text's end may lie beyond what is needed of it.
    inputs = net.gather(
        projected,
        examples.signals[chosen].float(),
        examples.surface[chosen].float(),
        torch.searchsorted(needed, tokens),
        (torch.searchsorted(needed, ends[0]), torch.searchsorted(needed, ends[1])),
    )
    return net(inputs.joined())  # type: ignore[no-any-return]


def score_all(net: BoundaryNet, examples: Examples) -> Float[Tensor, " candidate"]:
    """The log odds of all examples by a trained network."""
    with torch.inference_mode():
        parts = [
            score(net, examples, torch.arange(first, min(first + 8192, len(examples))))
            for first in range(0, len(examples), 8192)
        ]
    return torch.cat(parts) if parts else torch.zeros(0)


def _batches(examples: int, size: int) -> Sequence[Int[Tensor, " chosen"]]:
    """The examples in random order, neighbours in chunks; what fills no batch is left out."""
    if examples < size:
        return [torch.arange(examples)]
    chunks = torch.randperm(examples // _CHUNK)
    per_batch = size // _CHUNK
    return [
        (chunks[first : first + per_batch, None] * _CHUNK + torch.arange(_CHUNK)).flatten()
        for first in range(0, len(chunks) - per_batch + 1, per_batch)
    ]


def _fold(
    net: BoundaryNet, mean: Float[Tensor, " output"], scale: Float[Tensor, " output"]
) -> None:
    """Let the projection take head outputs as they are, not standardised."""
    with torch.no_grad():
        net.projection.weight.copy_(net.projection.weight / scale)
        net.projection.bias.copy_(net.projection.bias - net.projection.weight @ mean)
