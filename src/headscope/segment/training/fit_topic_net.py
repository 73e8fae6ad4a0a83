"""Training the topic network on texts concatenated from passages of different documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.segment.topics.gap_features import (
    Similarities,
    channel_statistics,
    gap_features,
    reverse_gaps,
)
from headscope.segment.topics.topic_net import TopicNet, TopicNetFacts
from headscope.segment.training.fit_boundary_net import TrainingSettings


@dataclass(frozen=True, eq=False, slots=True)
class TopicExample:
    """A text whose topics are known."""

    similarities: Similarities
    starts: tuple[int, ...]
    """The sentences at which a new topic begins, without the first."""


def fit_topic_net(
    examples: Sequence[TopicExample], facts: TopicNetFacts, settings: TrainingSettings
) -> TopicNet:
    """The network that predicts the starts; deterministic given seed and number of threads.

    Each time a text is used, its sentences are reversed with probability 1/2.

    Args:
        examples: Texts with known topics.
        facts: The model that it is for, the texts, and its sizes.
        settings: Epochs, learning rate, seed and so on.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        net = TopicNet(facts, settings.dropout)
        usual, scale = channel_statistics([example.similarities for example in examples[:500]])
        net.usual.copy_(usual)
        net.scale.copy_(scale)
        # Half precision, to keep thousands of texts in memory.
        seen = [gap_features(example.similarities, usual, scale).half() for example in examples]
        wanted = [_labels(example) for example in examples]
        optimiser = torch.optim.AdamW(
            net.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        steps = settings.epochs * -(-len(examples) // settings.batch)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, settings.learning_rate, total_steps=steps
        )
        net.train()
        for _ in range(settings.epochs):
            for numbers, labels, inside in _batches(seen, wanted, settings.batch):
                losses = nn.functional.binary_cross_entropy_with_logits(
                    net(numbers, inside), labels, reduction="none"
                )
                loss = (losses * inside).sum() / inside.sum()
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimiser.step()
                schedule.step()
    return net.eval()


def _labels(example: TopicExample) -> Float[Tensor, " gap"]:
    labels = torch.zeros(len(example.similarities[0]) - 1)
    labels[torch.tensor(example.starts, dtype=torch.long) - 1] = 1
    return labels


def _batches(
    seen: Sequence[Float[Tensor, "_ number"]], wanted: Sequence[Float[Tensor, " _"]], batch: int
) -> Iterator[
    tuple[Float[Tensor, "text gap number"], Float[Tensor, "text gap"], Float[Tensor, "text gap"]]
]:
    """All texts once, in random order: features, labels, and 1 where there is a gap."""
    for places in torch.randperm(len(seen)).split(batch):  # type: ignore[no-untyped-call]
        numbers, labels = [], []
        for place in places.tolist():
            turned = bool(torch.rand(()) < 0.5)
            numbers.append(reverse_gaps(seen[place]) if turned else seen[place])
            labels.append(wanted[place].flip(0) if turned else wanted[place])
        inside = [torch.ones(len(label)) for label in labels]
        pad = nn.utils.rnn.pad_sequence
        yield pad(numbers, True).float(), pad(labels, True), pad(inside, True)
