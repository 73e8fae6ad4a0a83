"""The small network that gives the log odds that a new topic begins at each gap of sentences.

    similarities around each gap --(one matrix)--> a few numbers per gap
    those --(convolutions over gaps)--> log odds

It sees nothing but similarities. It was learned for one model: those of others differ.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models.folder import MOST_JSON_BYTES
from headscope.models.loaded import LoadedModel
from headscope.runs.files import write_whole
from headscope.segment.demo_weights import DEMO_WEIGHTS
from headscope.segment.topics.gap_features import CHANNELS, NUMBERS, Similarities, gap_features
from headscope.system.untrusted import check_untrusted, open_untrusted

FORMAT = 1
_GAPS = 5
"""Number of gaps that a convolution sees; they are 1, 2 and 3 apart in successive ones."""


@dataclass(frozen=True, slots=True)
class TopicNetFacts:
    """What a network was learned for and from, and its sizes."""

    model: str
    """Name of the model, for people."""
    weights_hash: str
    """SHA-256 of the weights of the model."""
    trained_on: str
    """The texts that the network was trained on, for people."""
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
        """The log odds at each gap.

        Args:
            seen: The features of each gap, see `gap_features`.
            inside: 1 at gaps of a text, 0 where it is padded.
        """
        there = inside[..., None]
        hidden = nn.functional.gelu(self.first(self.dropout(seen))) * there
        for norm, convolution in zip(self.norms, self.deeper, strict=True):
            wider = convolution((norm(hidden) * there).mT).mT
            hidden = (hidden + self.dropout(nn.functional.gelu(wider))) * there
        odds: Float[Tensor, "text gap"] = (self.direct(seen) + self.top(hidden))[..., 0]
        return odds

    def log_odds(self, similarities: Similarities) -> Float[Tensor, " gap"]:
        """The log odds at the gaps of one text.

        Args:
            similarities: Of its sentences.
        """
        with torch.inference_mode():
            seen = gap_features(similarities, self.usual, self.scale)[None]
            odds: Float[Tensor, " gap"] = self(seen, torch.ones(seen.shape[:2]))[0]
        return odds

    def save(self, folder: str | Path) -> None:
        """Write `topics.json` and `topics.safetensors` into a folder, in half precision.

        Args:
            folder: Created if it does not exist.
        """
        path = Path(folder)
        arrays = {name: array.half().contiguous() for name, array in self.state_dict().items()}
        write_whole(path / "topics.safetensors", save(arrays))
        facts = {"format": FORMAT, **asdict(self.facts)}
        write_whole(path / "topics.json", (json.dumps(facts, indent=2) + "\n").encode())


def load_topic_net(folder: str | Path) -> TopicNet:
    """The network in a folder.

    Args:
        folder: Written by `TopicNet.save`.

    Raises:
        ModelError: There is none, or it is damaged.
    """
    path = Path(folder)
    try:
        with open_untrusted(path / "topics.json", max_bytes=MOST_JSON_BYTES) as file:
            facts = json.load(file)
        if facts.pop("format") != FORMAT:
            raise ValueError(f"this version reads format {FORMAT}")
        net = TopicNet(TopicNetFacts(**facts))
        arrays = load_file(check_untrusted(path / "topics.safetensors"))
        net.load_state_dict({name: array.float() for name, array in arrays.items()})
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RuntimeError,
        SafetensorError,
    ) as error:
        raise ModelError(
            f"the topic network in {path} cannot be read ({error}); install headscope again"
        ) from error
    return net.eval()


def topic_net_for(model: LoadedModel) -> TopicNet | None:
    """The network that comes with headscope, or None if it was learned for another model.

    Args:
        model: The model whose similarities the network is going to see.
    """
    net = _shipped()
    return net if net.facts.weights_hash == model.weights_hash else None


@lru_cache(maxsize=1)
def _shipped() -> TopicNet:
    return load_topic_net(DEMO_WEIGHTS)
