"""What predictions over a vocabulary are worth: entropy, loss, rank of the truth, divergence.

With a vocabulary of 50,000, passes over the logits may cost more than the unembedding that gives
them. So there is one exponential and otherwise dot products, on a few rows at a time, which stay in
cache.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

_ROWS = 32
"""Positions whose scores over the vocabulary are looked at together."""
_LEAST = -1e30
"""Instead of minus infinity, which times a probability of zero would be no number."""


@dataclass(frozen=True, eq=False, slots=True)
class Reference:
    """The prediction that others are compared with."""

    probabilities: Float[Tensor, "scored value"]
    negative_entropy: Float[Tensor, " scored"]
    """sum q log q."""

    @classmethod
    def of(cls, logits: Float[Tensor, "scored value"]) -> "Reference":
        """The prediction that logits stand for.

        Args:
            logits: Of any floating type.
        """
        # Not torch's log_softmax, which over large vocabularies is off by 1e-5 in single precision.
        logits = _at_least_single(logits).clamp_min(_LEAST)
        largest = logits.amax(-1, keepdim=True)
        q = torch.sub(logits, largest).exp_()
        total = q.sum(-1, keepdim=True)
        q /= total
        normaliser = (largest + total.log())[:, 0]
        return cls(q, torch.linalg.vecdot(q, logits) - normaliser)


@dataclass(frozen=True, eq=False, slots=True)
class PredictionScores:
    """Numbers of each scored position."""

    entropy: Float[Tensor, " scored"]
    """-sum p log p, in nats."""
    cross_entropy: Float[Tensor, " scored"]
    """-log p of the true token, in nats."""
    rank: Float[Tensor, " scored"]
    """1 + number of tokens with a larger probability than the true one."""
    predicted: Int[Tensor, " scored"]
    """The token with the largest probability; the first of those that tie."""
    kl: Float[Tensor, " scored"]
    """sum q log(q / p), with q the prediction that p is compared with, in nats."""


def prediction_scores(
    logits: Float[Tensor, "scored value"], targets: Int[Tensor, " scored"], reference: Reference
) -> PredictionScores:
    """What predictions are worth, and how far they are from others of the same positions.

    Args:
        logits: Of p. Of any floating type; a token that is ruled out may have minus infinity.
        targets: The true tokens.
        reference: q.
    """
    parts = [
        _scores(_at_least_single(logits[rows]), targets[rows], _rows(reference, rows))
        for first in range(0, len(logits), _ROWS)
        for rows in [slice(first, first + _ROWS)]
    ] or [_scores(_at_least_single(logits), targets, reference)]
    names = PredictionScores.__slots__
    return PredictionScores(
        **{name: torch.cat([getattr(part, name) for part in parts]) for name in names}
    )


def _at_least_single(logits: Float[Tensor, "some value"]) -> Float[Tensor, "some value"]:
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def _rows(reference: Reference, rows: slice) -> Reference:
    return Reference(reference.probabilities[rows], reference.negative_entropy[rows])


def _scores(
    logits: Float[Tensor, "some value"], targets: Int[Tensor, " some"], reference: Reference
) -> PredictionScores:
    logits = logits.clamp_min(_LEAST)
    largest = logits.amax(-1, keepdim=True)
    work = torch.sub(logits, largest).exp_()
    total = work.sum(-1)
    normaliser = largest[:, 0] + total.log()
    mean_logit = torch.linalg.vecdot(work, logits) / total
    of_target = logits.gather(1, targets[:, None])
    # As floats, which are added up several times as fast as truth values, and exactly.
    larger = torch.gt(logits, of_target, out=work).sum(-1)
    return PredictionScores(
        entropy=normaliser - mean_logit,
        cross_entropy=normaliser - of_target[:, 0],
        rank=1 + larger,
        predicted=_argmax(logits),
        kl=(
            reference.negative_entropy
            + normaliser
            - torch.linalg.vecdot(reference.probabilities, logits)
        ).clamp_min_(0),
    )


def _argmax(values: Float[Tensor, "some value"]) -> Int[Tensor, " some"]:
    """On CPUs by numpy, which is about twenty times as fast."""
    if values.device.type == "cpu" and len(values):
        return torch.from_numpy(values.numpy().argmax(-1))
    return values.argmax(-1)
