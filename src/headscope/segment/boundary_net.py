"""The small network that says how likely a sentence begins at a candidate.

    head outputs of the tokens around the gap --(one matrix)--> a few numbers per token
    those, the head signals at the gap, and the surface --(linear + one hidden layer)--> log odds

The linear path alone is a logistic regression on what heads write; the hidden layer adds what
depends on both sides of the gap at once.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.segment.surface import FEATURES


@dataclass(frozen=True, slots=True)
class NetShape:
    """The sizes of a network."""

    outputs: int
    """Numbers that all heads together write for a token."""
    signals: int
    """Signals of all heads together at a gap."""
    surface: bool
    """Whether the surface of the text is seen."""
    context: int = 4
    """Tokens on each side of the gap."""
    rank: int = 32
    """Numbers per token that head outputs are brought down to."""
    hidden: int = 64

    @property
    def inputs(self) -> int:
        """Numbers per candidate behind the projection."""
        tokens = 2 * self.context
        return tokens * self.rank + tokens + self.signals + self.surface * len(FEATURES)


@dataclass(frozen=True, eq=False, slots=True)
class CandidateInputs:
    """What the network sees of some candidates."""

    projected: Float[Tensor, "candidate context rank"]
    """Projected head outputs of the tokens around the gap; 0 beyond the ends of the text."""
    inside: Float[Tensor, "candidate context"]
    """1 where there is a token, 0 beyond the ends of the text."""
    signals: Float[Tensor, "candidate number"]
    """Head signals at the gap, standardised."""
    surface: Float[Tensor, "candidate feature"]
    """Surface features; no columns when the network does not see the surface."""

    def joined(self) -> Float[Tensor, "candidate input"]:
        """All of it as one row per candidate."""
        parts = [self.projected.flatten(1), self.inside, self.signals, self.surface]
        return torch.cat(parts, dim=1)


class BoundaryNet(nn.Module):
    """Log odds of a boundary at each candidate."""

    def __init__(self, shape: NetShape, dropout: float = 0.2) -> None:
        super().__init__()
        self.shape = shape
        self.projection = nn.Linear(shape.outputs, shape.rank)
        self.direct = nn.Linear(shape.inputs, 1)
        self.hidden = nn.Linear(shape.inputs, shape.hidden)
        self.top = nn.Linear(shape.hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.signal_mean: Tensor
        self.signal_scale: Tensor
        self.register_buffer("signal_mean", torch.zeros(shape.signals))
        self.register_buffer("signal_scale", torch.ones(shape.signals))

    def forward(self, inputs: Float[Tensor, "candidate input"]) -> Float[Tensor, " candidate"]:
        """The log odds, from what `CandidateInputs.joined` gives."""
        hidden = self.dropout(nn.functional.gelu(self.hidden(inputs)))
        odds: Float[Tensor, "candidate 1"] = self.direct(inputs) + self.top(hidden)
        return odds[:, 0]

    def gather(
        self,
        projected: Float[Tensor, "token rank"],
        signals: Float[Tensor, "candidate number"],
        surface: Float[Tensor, "candidate feature"],
        tokens: Int[Tensor, " candidate"],
        ends: tuple[Int[Tensor, " candidate"], Int[Tensor, " candidate"]],
    ) -> CandidateInputs:
        """What the network sees of candidates whose first token behind the gap is `tokens`.

        `ends` are the first token of each candidate's text and the one behind its last.
        """
        offsets = torch.arange(-self.shape.context, self.shape.context)
        places = tokens[:, None] + offsets
        inside = (places >= ends[0][:, None]) & (places < ends[1][:, None])
        around = projected[places.clamp(0, max(len(projected) - 1, 0))] * inside[..., None]
        standard = (signals - self.signal_mean) / self.signal_scale
        return CandidateInputs(around, inside.to(projected.dtype), standard, surface)
