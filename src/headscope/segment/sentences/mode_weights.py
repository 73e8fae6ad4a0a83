"""What a segmenter has learned for one mode: network, calibration, threshold, lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64, Int
from torch import Tensor

from headscope.models.site import AttentionSite
from headscope.segment.reading.read_heads import LayerMap, Reading
from headscope.segment.sentences.boundary_net import BoundaryNet, Stretches
from headscope.segment.sentences.candidates import Candidates
from headscope.segment.sentences.decode import LengthPrior
from headscope.segment.sentences.surface import surface_features


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling: log odds that mean what they say, from what the network gives."""

    scale: float = 1.0
    shift: float = 0.0

    def log_odds(self, raw: Float64[np.ndarray, " candidate"]) -> Float64[np.ndarray, " candidate"]:
        """The calibrated log odds."""
        return self.scale * raw + self.shift


@dataclass(frozen=True, eq=False, slots=True)
class ModeWeights:
    """A trained network with all that turns its output into segments."""

    net: BoundaryNet
    calibration: Calibration
    threshold: float
    """The probability at which a single candidate is worth a cut: it makes F1 largest."""
    prior: LengthPrior

    def layer_maps(self, sites: Sequence[AttentionSite]) -> list[LayerMap]:
        """The projection of the network, cut up by layer; all layers add to the same columns."""
        matrix = self.net.projection.weight.detach().T
        maps, first = [], 0
        for site in sites:
            rows = site.heads * site.d_head
            maps.append(LayerMap(matrix[first : first + rows].contiguous(), matrix.shape[1], 0))
            first += rows
        return maps

    def seen(self, reading: Reading, candidates: Candidates, text: str) -> Stretches:
        """All tokens of a text that has been read, as one stretch for the network."""
        net = self.net
        places = self.places(reading, candidates)
        gaps = torch.zeros(len(reading.columns), net.shape.gap_numbers)
        gaps[places] = net.gaps(reading.signals[places], self._surface(candidates, text))
        tokens = reading.columns + net.projection.bias
        return Stretches(tokens[None], gaps[None], torch.ones(1, len(tokens)))

    def log_odds(
        self, reading: Reading, candidates: Candidates, text: str
    ) -> Float64[np.ndarray, " candidate"]:
        """The calibrated log odds of a boundary at each candidate."""
        if not len(candidates) or not len(reading.columns):
            # Characters for which the tokenizer has no token: nothing was read, nothing is said.
            return np.full(len(candidates), -20.0)
        with torch.inference_mode():
            raw = self.net(self.seen(reading, candidates, text))[0]
        at_candidates = raw[self.places(reading, candidates)].double().numpy()
        return self.calibration.log_odds(at_candidates)

    def places(self, reading: Reading, candidates: Candidates) -> Int[Tensor, " candidate"]:
        """The token that stands for each candidate: the first behind it, or the very last."""
        return torch.from_numpy(candidates.tokens).clamp(max=len(reading.columns) - 1)

    def _surface(self, candidates: Candidates, text: str) -> Tensor:
        if not self.net.shape.surface:
            return torch.zeros(len(candidates), 0)
        return torch.from_numpy(surface_features(text, candidates.characters))
