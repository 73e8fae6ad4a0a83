"""The weights for one mode: network, calibration, threshold and length prior."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from headscope.models.site import AttentionSite
from headscope.segment.reading.read_heads import LayerMap, Reading
from headscope.segment.sentences.boundary_net import BoundaryNet, NetInput
from headscope.segment.sentences.candidates import Candidates
from headscope.segment.sentences.decode import LengthPrior
from headscope.segment.sentences.surface import surface_features


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling: turns the output of the network into calibrated log odds.

    >>> Calibration(scale=2.0, shift=-1.0).log_odds(np.array([0.0, 3.0]))
    array([-1.,  5.])
    """

    scale: float = 1.0
    shift: float = 0.0

    def log_odds(self, raw: Float64[np.ndarray, " candidate"]) -> Float64[np.ndarray, " candidate"]:
        """The calibrated log odds.

        Args:
            raw: The log odds that the network gives.
        """
        return self.scale * raw + self.shift


@dataclass(frozen=True, eq=False, slots=True)
class ModeWeights:
    """A trained network, and what turns its output into segments."""

    net: BoundaryNet
    calibration: Calibration
    threshold: float
    """The probability from which a candidate is worth a cut: the one with the largest F1."""
    prior: LengthPrior

    def layer_maps(self, sites: Sequence[AttentionSite]) -> list[LayerMap]:
        """The projection of the network, one part per layer; all layers add to the same columns.

        Args:
            sites: Those that are read, in the order that the network was trained with.
        """
        matrix = self.net.projection.weight.detach().T
        maps, first = [], 0
        for site in sites:
            rows = site.heads * site.d_head
            maps.append(LayerMap(matrix[first : first + rows].contiguous(), matrix.shape[1], 0))
            first += rows
        return maps

    def net_input(self, reading: Reading, candidates: Candidates, text: str) -> NetInput:
        """All tokens of a text, as one chunk for the network.

        Args:
            reading: What the heads wrote for the text, through `layer_maps`.
            candidates: Those of the text.
            text: The text itself, for its surface features.
        """
        net = self.net
        places = self.places(reading, candidates)
        gaps = torch.zeros(len(reading.columns), net.shape.gap_numbers)
        gaps[places] = net.gaps(reading.signals[places], self._surface(candidates, text))
        tokens = reading.columns + net.projection.bias
        return NetInput(tokens[None], gaps[None], torch.ones(1, len(tokens)))

    def log_odds(
        self, reading: Reading, candidates: Candidates, text: str
    ) -> Float64[np.ndarray, " candidate"]:
        """The calibrated log odds of a boundary at each candidate; arguments as in `net_input`."""
        if not len(candidates) or not len(reading.columns):
            # The tokenizer has no token for these characters: nothing was read.
            return np.full(len(candidates), -20.0)
        with torch.inference_mode():
            raw = self.net(self.net_input(reading, candidates, text))[0]
        at_candidates = raw[self.places(reading, candidates)].double().numpy()
        return self.calibration.log_odds(at_candidates)

    def places(self, reading: Reading, candidates: Candidates) -> Int[Tensor, " candidate"]:
        """The token of each candidate: the first one at or after it, or else the last one.

        Args:
            reading: What the heads wrote for the text.
            candidates: Those of the text.
        """
        return torch.from_numpy(candidates.tokens).clamp(max=len(reading.columns) - 1)

    def _surface(self, candidates: Candidates, text: str) -> Tensor:
        if not self.net.shape.surface:
            return torch.zeros(len(candidates), 0)
        return torch.from_numpy(surface_features(text, candidates.characters))
