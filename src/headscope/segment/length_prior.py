"""Length prior: how usual a sentence of so many words is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

LONGEST = 150
"""Longer sentences count as ones of this length, so that no text is cut for want of a sentence."""


@dataclass(frozen=True, slots=True)
class LengthPrior:
    """A log-normal distribution of sentence lengths, counted in candidates (about: words)."""

    mean_log: float
    deviation_log: float
    weight: float
    """How much lengths count beside what the heads say; 0 switches the prior off."""

    def log_ratios(self) -> Float64[np.ndarray, " length"]:
        """For lengths 1, 2, ...: the logarithm of how much more usual they are than by chance.

        By chance means: cutting anywhere with the same probability, which is what probabilities of
        single candidates assume already.
        """
        lengths = np.arange(1, LONGEST + 1)
        logs = (np.log(lengths) - self.mean_log) / self.deviation_log
        log_normal = -0.5 * logs**2 - np.log(lengths * self.deviation_log * math.sqrt(2 * math.pi))
        rate = 1 / math.exp(self.mean_log + self.deviation_log**2 / 2)
        geometric = math.log(rate) + (lengths - 1) * math.log1p(-rate)
        ratios: Float64[np.ndarray, " length"] = self.weight * (log_normal - geometric)
        return ratios

    @classmethod
    def of(cls, lengths: Sequence[int], weight: float) -> "LengthPrior":
        """The prior that fits some sentence lengths."""
        logs = np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1))
        return cls(float(logs.mean()), float(max(logs.std(), 0.3)), weight)
