"""Decoding: from the log odds of single candidates to the best segmentation of a text."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from headscope.errors import SettingsError
from headscope.kernels.cpu.jit.best_cuts import best_cuts

LONGEST = 150
"""Longer sentences count as this long: the prior must not force cuts where there are none."""


@dataclass(frozen=True, slots=True)
class LengthPrior:
    """A log-normal distribution of sentence lengths, in candidates (roughly, words)."""

    mean_log: float
    deviation_log: float
    weight: float
    """How much lengths count relative to what the heads say; 0 switches the prior off."""

    def log_ratios(self) -> Float64[np.ndarray, " length"]:
        """For lengths 1, 2, ...: the log of how much more frequent they are than by chance.

        Chance is a cut at every candidate with the same probability, which is what the
        probabilities of single candidates assume already.
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
        """The prior that fits some sentence lengths.

        >>> LengthPrior.of([10, 10, 10], weight=0.5)
        LengthPrior(mean_log=2.302585092994046, deviation_log=0.3, weight=0.5)

        Args:
            lengths: In candidates.
            weight: How much lengths count.
        """
        logs = np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1))
        return cls(float(logs.mean()), float(max(logs.std(), 0.3)), weight)


_SURE = 1e6
"""The gain of a cut that must be made; its negative is the gain of a last resort."""


@dataclass(frozen=True, slots=True)
class CutRules:
    """Limits on a segmentation. Lengths are in characters, white space included."""

    min_length: int | None = None
    max_length: int | None = None
    n_segments: int | None = None

    def __post_init__(self) -> None:
        for name in ("min_length", "max_length", "n_segments"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name}: {value} is too few; give at least 1, or leave it out")
        if self.min_length and self.max_length and self.min_length > self.max_length // 2:
            raise SettingsError(
                f"min_length {self.min_length} and max_length {self.max_length} leave no room; "
                "max_length must be at least twice min_length"
            )


def decode(
    log_odds: Float64[np.ndarray, " candidate"],
    characters: Int64[np.ndarray, " candidate"],
    length: int,
    *,
    threshold: float,
    prior: LengthPrior,
    rules: CutRules,
    hard: Bool[np.ndarray, " candidate"] | None = None,
) -> list[int]:
    """The characters at which segments begin, without the first segment.

    The segmentation with the largest sum of log odds above the threshold plus the prior of its
    lengths, found by dynamic programming.

    >>> prior = LengthPrior(mean_log=2.3, deviation_log=0.5, weight=0.0)
    >>> odds, characters = np.array([2.0, -3.0, 1.0]), np.array([6, 12, 18])
    >>> decode(odds, characters, 24, threshold=0.5, prior=prior, rules=CutRules())
    [6, 18]

    Args:
        log_odds: Of a boundary at each candidate.
        characters: The character of each candidate.
        length: Number of characters of the text.
        threshold: The probability from which a candidate is worth a cut.
        prior: Of the lengths of segments.
        rules: Limits on the segments. Words longer than `max_length` are cut as well.
        hard: Candidates that are always cut at, unless that breaks `min_length`.
    """
    if not length:
        return []
    if rules.n_segments is not None:
        return _decode_number(log_odds, characters, length, rules, prior)
    gains = log_odds - np.log(threshold / (1 - threshold))
    if hard is not None:
        gains = np.where(hard, _SURE, gains)
    places = characters
    if rules.max_length is not None:
        places, gains = _fill_gaps(characters, gains, length, rules.max_length)
    cuts = _cut(gains, places, length, prior, rules)
    return [int(place) for place in places[cuts]]


def _cut(
    gains: Float64[np.ndarray, " candidate"],
    places: Int64[np.ndarray, " candidate"],
    length: int,
    prior: LengthPrior,
    rules: CutRules,
) -> Int64[np.ndarray, " cut"]:
    whole = np.concatenate([[0], places, [length]]).astype(np.int64)
    longest = rules.max_length or length
    cuts = best_cuts(gains, prior.log_ratios(), whole, rules.min_length or 1, longest)
    if len(cuts) == 1 and cuts[0] < 0:
        # The two limits cannot both be kept everywhere: the shortest length gives way.
        cuts = best_cuts(gains, prior.log_ratios(), whole, 1, longest)
    found: Int64[np.ndarray, " cut"] = cuts
    return found


def _fill_gaps(
    characters: Int64[np.ndarray, " candidate"],
    gains: Float64[np.ndarray, " candidate"],
    length: int,
    max_length: int,
) -> tuple[Int64[np.ndarray, " place"], Float64[np.ndarray, " place"]]:
    """Candidates of last resort inside words that are longer than `max_length`."""
    edges = np.concatenate([[0], characters, [length]])
    added = [
        np.arange(start + max_length, end, max_length)
        for start, end in itertools.pairwise(edges)
        if end - start > max_length
    ]
    if not added:
        return characters, gains
    places = np.concatenate([characters, *added]).astype(np.int64)
    all_gains = np.concatenate([gains, *(np.full(len(more), -_SURE) for more in added)])
    order = np.argsort(places, kind="stable")
    return places[order], all_gains[order]


def _decode_number(
    log_odds: Float64[np.ndarray, " candidate"],
    characters: Int64[np.ndarray, " candidate"],
    length: int,
    rules: CutRules,
    prior: LengthPrior,
) -> list[int]:
    """Exactly `n_segments` segments, or as many as there are candidates for.

    The threshold is moved until the best segmentation has that number or the next larger one; then
    the least likely cuts are dropped.
    """
    assert rules.n_segments is not None
    wanted = rules.n_segments - 1
    if wanted == 0 or len(characters) == 0:
        return []
    free = CutRules(rules.min_length, rules.max_length)
    low, high = -60.0, 60.0
    cuts = _cut(log_odds - low, characters, length, prior, free)
    for _ in range(60):
        middle = (low + high) / 2
        found = _cut(log_odds - middle, characters, length, prior, free)
        if len(found) >= wanted:
            low, cuts = middle, found
        else:
            high = middle
        if len(cuts) == wanted:
            break
    strongest = sorted(cuts, key=lambda cut: -log_odds[cut])[:wanted]
    return sorted(int(characters[cut]) for cut in strongest)
