"""The small network that says how likely a new topic begins at each gap between two sentences.

    similarities around each gap --(one matrix)--> a few numbers per gap
    those --(convolutions over gaps)--> log odds

It sees similarities alone, of a model that it was learned for: other models have other ones.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models.loaded import LoadedModel
from headscope.segment.sentences.weights import SHIPPED
from headscope.segment.topics.gaps import CHANNELS, NUMBERS, Similarities, see_gaps

FORMAT = 1
_GAPS = 5
"""Gaps that a convolution sees, 1, 2 or 3 apart: one convolution after the other sees further."""


@dataclass(frozen=True, slots=True)
class TopicNetFacts:
    """Of what a network was learned."""

    model: str
    """Name of the model, for people."""
    weights_hash: str
    """SHA-256 of the weights of the model."""
    trained_on: str
    """For people."""
    hidden: int = 96
    depth: int = 3


class TopicNet(nn.Module):
    """Log odds of a new topic at each gap."""

    def __init__(self, facts: TopicNetFacts, dropout: float = 0.0) -> None:
        super().__init__()
        self.facts = facts
        hidden = facts.hidden
        self.usual: Tensor
        self.scale: Tensor
        self.register_buffer("usual", torch.zeros(CHANNELS))
        self.register_buffer("scale", torch.ones(CHANNELS))
        self.direct = nn.Linear(NUMBERS, 1)
        self.first = nn.Linear(NUMBERS, hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(facts.depth))
        self.deeper = nn.ModuleList(
            nn.Conv1d(hidden, hidden, _GAPS, padding="same", dilation=apart)
            for apart in range(1, facts.depth + 1)
        )
        self.top = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, seen: Float[Tensor, "text gap number"], inside: Float[Tensor, "text gap"]
    ) -> Float[Tensor, "text gap"]:
        """The log odds at each gap; `inside` is 1 at gaps of a text, and 0 where it is padded."""
        there = inside[..., None]
        hidden = nn.functional.gelu(self.first(self.dropout(seen))) * there
        for norm, convolution in zip(self.norms, self.deeper, strict=True):
            wider = convolution((norm(hidden) * there).mT).mT
            hidden = (hidden + self.dropout(nn.functional.gelu(wider))) * there
        odds: Float[Tensor, "text gap"] = (self.direct(seen) + self.top(hidden))[..., 0]
        return odds

    def log_odds(self, alike: Similarities) -> Float[Tensor, " gap"]:
        """The log odds at the gaps of one text."""
        with torch.inference_mode():
            seen = see_gaps(alike, self.usual, self.scale)[None]
            odds: Float[Tensor, " gap"] = self(seen, torch.ones(seen.shape[:2]))[0]
        return odds

    def save(self, folder: str | Path) -> None:
        """Write `topics.json` and `topics.safetensors` into a folder, in half precision."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        arrays = {name: array.half().contiguous() for name, array in self.state_dict().items()}
        save_file(arrays, path / "topics.safetensors")
        facts = {"format": FORMAT, **asdict(self.facts)}
        (path / "topics.json").write_text(json.dumps(facts, indent=2) + "\n")


def load_topic_net(folder: str | Path) -> TopicNet:
    """The network in a folder.

    Raises:
        ModelError: there is none, or it is damaged.
    """
    path = Path(folder)
    try:
        facts = json.loads((path / "topics.json").read_text())
        if facts.pop("format") != FORMAT:
            raise ValueError(f"this version reads format {FORMAT}")
        net = TopicNet(TopicNetFacts(**facts))
        arrays = load_file(path / "topics.safetensors")
        net.load_state_dict({name: array.float() for name, array in arrays.items()})
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, SafetensorError) as error:
        raise ModelError(
            f"the network for topics in {path} cannot be read ({error}); install headscope anew"
        ) from error
    return net.eval()


def topic_net_for(model: LoadedModel) -> TopicNet | None:
    """The network that comes with headscope, if it was learned for this model."""
    net = _shipped()
    return net if net.facts.weights_hash == model.weights_hash else None


@lru_cache(maxsize=1)
def _shipped() -> TopicNet:
    return load_topic_net(SHIPPED)
