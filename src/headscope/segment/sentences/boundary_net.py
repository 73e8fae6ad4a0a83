"""The small network that gives the log odds that a sentence begins at each token.

    head outputs of each token --(one matrix)--> a few numbers per token
    those, the head signals and the surface at each gap --(convolutions over tokens)--> log odds

A gap is the place just before a token. The direct path alone is a logistic regression on what heads
write around a gap; the convolutions add what depends on several tokens or gaps jointly.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.segment.sentences.surface import FEATURES

_DEEPER_TOKENS = 5
"""Number of neighbouring gaps that each convolution after the first sees."""


@dataclass(frozen=True, slots=True)
class NetShape:
    """The sizes of a network."""

    outputs: int
    """Number of values that all heads together write for a token."""
    signals: int
    """Number of signals of all heads together at a gap."""
    surface: bool
    """Whether the network sees the surface features of the text."""
    context: int = 4
    """Number of tokens on each side of the gap that the first convolution sees."""
    rank: int = 32
    """Number of values per token that head outputs are projected to."""
    hidden: int = 96
    depth: int = 2
    """Number of convolutions, one after the other."""

    @property
    def gap_numbers(self) -> int:
        """Number of values per gap: signals, and surface features where they are seen."""
        return self.signals + self.surface * len(FEATURES)

    @property
    def reach(self) -> int:
        """The distance in tokens beyond which nothing affects the log odds of a gap."""
        return self.context + (self.depth - 1) * (_DEEPER_TOKENS // 2)


@dataclass(frozen=True, eq=False, slots=True)
class NetInput:
    """Chunks of consecutive tokens as the network sees them, with the gap before each token."""

    tokens: Float[Tensor, "chunk token rank"]
    """Projected head outputs; 0 beyond the ends of a text."""
    gaps: Float[Tensor, "chunk token number"]
    """Standardised signals and surface features at gaps that are candidates; 0 elsewhere."""
    inside: Float[Tensor, "chunk token"]
    """1 where there is a token, 0 beyond the ends of a text."""


class BoundaryNet(nn.Module):
    """Log odds of a boundary before each token."""

    def __init__(self, shape: NetShape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.projection = nn.Linear(shape.outputs, shape.rank)
        self.direct = nn.Conv1d(shape.rank, 1, 2 * shape.context)
        self.direct_gap = nn.Linear(shape.gap_numbers, 1, bias=False)
        self.first = nn.Conv1d(shape.rank, shape.hidden, 2 * shape.context)
        self.first_gap = nn.Linear(shape.gap_numbers, shape.hidden, bias=False)
        self.deeper = nn.ModuleList(
            nn.Conv1d(shape.hidden, shape.hidden, _DEEPER_TOKENS, padding="same")
            for _ in range(shape.depth - 1)
        )
        self.top = nn.Linear(shape.hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.signal_mean: Tensor
        self.signal_scale: Tensor
        self.register_buffer("signal_mean", torch.zeros(shape.signals))
        self.register_buffer("signal_scale", torch.ones(shape.signals))

    def forward(self, seen: NetInput) -> Float[Tensor, "chunk token"]:
        """The log odds before each token; wrong within `reach` of where a text is cut into chunks.

        Args:
            seen: The chunks.
        """
        inside = seen.inside[:, None]
        context = self.shape.context
        tokens = (self.dropout(seen.tokens) * seen.inside[..., None]).transpose(1, 2)
        tokens = nn.functional.pad(tokens, (context, context - 1))
        direct = self.direct(tokens)[:, 0] + self.direct_gap(seen.gaps)[..., 0]
        hidden = self.first(tokens) + self.first_gap(seen.gaps).transpose(1, 2)
        hidden = self.dropout(nn.functional.gelu(hidden)) * inside
        for convolution in self.deeper:
            hidden = self.dropout(nn.functional.gelu(convolution(hidden)) + hidden) * inside
        odds: Float[Tensor, "chunk token"] = direct + self.top(hidden.transpose(1, 2))[..., 0]
        return odds

    def gaps(
        self,
        signals: Float[Tensor, "*gap number"],
        surface: Float[Tensor, "*gap feature"],
    ) -> Float[Tensor, "*gap number2"]:
        """What the network sees of gaps that are candidates.

        Args:
            signals: Of all heads; they are standardised here.
            surface: The surface features, or an array of no columns.
        """
        standard = (signals - self.signal_mean) / self.signal_scale
        return torch.cat([standard, surface], dim=-1)
