"""What a segmenter has learned for one mode: network, calibration, threshold, lengths."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from headscope.models.site import AttentionSite
from headscope.segment.boundary_net import BoundaryNet, CandidateInputs
from headscope.segment.candidates import Candidates
from headscope.segment.length_prior import LengthPrior
from headscope.segment.read_heads import LayerMap, Reading
from headscope.segment.surface import FEATURES, surface_features


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling: log odds that mean what they say, from what the network gives."""

    scale: float = 1.0
    shift: float = 0.0
    rule_shift: float = 0.0
    """Added where the rule-based splitter cuts: it errs less than rough texts suggest."""

    def log_odds(
        self,
        raw: Float64[np.ndarray, " candidate"],
        ruled: Float64[np.ndarray, " candidate"] | float = 0.0,
    ) -> Float64[np.ndarray, " candidate"]:
        """The calibrated log odds; `ruled` is 1 where the rule-based splitter cuts."""
        odds: Float64[np.ndarray, " candidate"] = (
            self.scale * raw + self.shift + self.rule_shift * ruled
        )
        return odds


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

    def inputs(self, reading: Reading, candidates: Candidates, text: str) -> CandidateInputs:
        """What the network sees of the candidates of a text that has been read."""
        net = self.net
        return net.gather(
            reading.columns + net.projection.bias,
            reading.signals[
                torch.from_numpy(candidates.tokens).clamp(max=len(reading.signals) - 1)
            ],
            self._surface(candidates, text),
            torch.from_numpy(candidates.tokens),
            (
                torch.zeros(len(candidates), dtype=torch.long),
                torch.full((len(candidates),), len(reading.columns)),
            ),
        )

    def log_odds(
        self, reading: Reading, candidates: Candidates, text: str
    ) -> Float64[np.ndarray, " candidate"]:
        """The calibrated log odds of a boundary at each candidate."""
        if not len(candidates) or not len(reading.columns):
            # Characters for which the tokenizer has no token: nothing was read, nothing is said.
            return np.full(len(candidates), -20.0)
        inputs = self.inputs(reading, candidates, text)
        with torch.inference_mode():
            raw = self.net(inputs.joined())
        return self.calibration.log_odds(raw.double().numpy(), rule_column(inputs.surface))

    def _surface(self, candidates: Candidates, text: str) -> Tensor:
        if not self.net.shape.surface:
            return torch.zeros(len(candidates), 0)
        return torch.from_numpy(surface_features(text, candidates.characters))


def rule_column(surface: Float[Tensor, "candidate feature"]) -> Float64[np.ndarray, " candidate"]:
    """1 where the rule-based splitter cuts; zeros where the surface is not seen."""
    if not surface.shape[1]:
        return np.zeros(len(surface))
    return surface[:, FEATURES.index("rule_based_splitter")].double().numpy()
