"""Measures that are no ratio of two columns: signal and noise, and what heads write.

They rest on the sample of a run (`headscope.measuring.signal`), as sums over groups of documents.
Each is a function of those sums, so that it has one formula for the whole sample and for a sample
without one group: leaving out each group in turn gives its interval (a jackknife).

To add one: a `SignalMeasure` in `SIGNAL_MEASURES` below, and its sums in `SUMS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.measures.measure import ratio
from headscope.system.registry import Registry

RELATIONS = ("dependency", "sentence", "lemma")
"""What two tokens of different words can be to each other, as far as labels tell."""
LABELS = ("own", "swapped")
"""The window's own labels, and those of another document at the same positions."""
SIDES = ("related", "unrelated")

LONGEST_PAIRED = 512
"""Of longer windows, pairs of the first tokens alone are looked at: pairs grow with the square."""
GROUPS = 20
"""Documents are dealt into at most this many groups."""
FEWEST_PAIRS = 100
"""A distance bin counts only where both sides have as many pairs, under both labels."""
FEWEST_OF_GROUPS = 0.5
"""And only where the pairs of both sides come from at least this share of the document groups.
Pairs of one document are alike: a bin that rests on one long sentence says nothing of heads."""
SMALLEST_VARIANCE = 1e-4
"""Of a cosine: where all pairs are alike, a ratio of variances would mean nothing."""
FEWEST_GROUPS = 5
"""With fewer groups of documents there is no interval."""

_CELL = ("relation", "labels", "side", "bin")
SUMS: Mapping[str, tuple[str, ...]] = {
    "pairs": ("group", *_CELL),
    "cosine": ("group", "head", *_CELL),
    "cosine_square": ("group", "head", *_CELL),
    "noise_pairs": ("group", "head"),
    "noise_unrelated": ("group", "head"),
    "noise_expected": ("group", "head"),
    "repeat_product": ("group", "head"),
    "repeat_first": ("group", "head"),
    "repeat_second": ("group", "head"),
    "write_tokens": ("group",),
    "write_stream": ("group", "head"),
    "write_length": ("group", "head"),
    "write_square": ("group", "head"),
    "written": ("group", "head", "d_head"),
}
"""The sums of a stack with their axes. `head` counts through all layers of the stack."""

Sums = Mapping[str, NDArray[np.float64]]
"""The sums of `SUMS` over some groups: without their first axis."""


def distance_bins(window_tokens: int) -> int:
    """Number of distance bins: 1, 2 to 3, 4 to 7, ... up to the length of a window.

    >>> distance_bins(128)
    7

    Args:
        window_tokens: The length of the longest window.
    """
    return max(window_tokens - 1, 1).bit_length()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalMeasure:
    """A number per head, from the sums of a run's sample."""

    name: str
    title: str
    unit: str
    definition: str
    misleads: str
    of: Callable[[Sums], NDArray[np.float64]]
    """Sums in, a value per head out."""
    expected: Callable[[Sums], NDArray[np.float64]] | None = None
    """What it would be without the effect; gives `NAME_expected`."""
    form: str = ".3f"
    source: str = "headscope"


def signal_to_noise(relation: str) -> Callable[[Sums], NDArray[np.float64]]:
    """The ratio of one relation: mean over distance bins, minus the same under swapped labels.

    Takes sums in which the bins that do not count are empty: see `counting_bins`.

    Args:
        relation: One of `RELATIONS`.
    """
    at = RELATIONS.index(relation)

    def ratio_of(sums: Sums) -> NDArray[np.float64]:
        number = sums["pairs"][at]  # labels, side, bin
        used = (number > 0).all(axis=(0, 1))
        if not used.any():
            return np.full(sums["cosine"].shape[0], np.nan)
        number = number[..., used]
        mean = sums["cosine"][:, at][..., used] / number
        variance = sums["cosine_square"][:, at][..., used] / number - np.square(mean)
        noise = np.maximum(variance, SMALLEST_VARIANCE).mean(axis=2)
        apart = np.square(mean[:, :, 0] - mean[:, :, 1])
        by_labels = (apart / noise).mean(axis=-1)  # head, labels
        corrected: NDArray[np.float64] = by_labels[:, 0] - by_labels[:, 1]
        return corrected

    return ratio_of


def _noise(column: str) -> Callable[[Sums], NDArray[np.float64]]:
    return lambda sums: ratio(sums[column], sums["noise_pairs"])


def _repeatability(sums: Sums) -> NDArray[np.float64]:
    return ratio(sums["repeat_product"], np.sqrt(sums["repeat_first"] * sums["repeat_second"]))


def _strength(sums: Sums) -> NDArray[np.float64]:
    return ratio(sums["write_length"], sums["write_stream"])


def _deviation(sums: Sums) -> NDArray[np.float64]:
    tokens = sums["write_tokens"]
    mean = ratio(sums["written"], tokens)
    variance = ratio(sums["write_square"], tokens) - np.square(mean).sum(-1)
    return ratio(np.sqrt(np.maximum(variance, 0)), ratio(sums["write_stream"], tokens))


_NOT_IMPORTANCE = (
    "It is not importance: it says how a head's vectors are ordered, not what the model loses "
    "without the head."
)
_WHAT_SNR_IS = (
    "With the mean and variance of the centred cosine over related and unrelated pairs, in each "
    "doubling of the distance: (difference of means)^2 / (mean of the two variances), averaged "
    "over distances, minus the same with another document's labels at the same positions. Words "
    "spelled alike, the same token twice and pieces of one word count on neither side. "
)

SIGNAL_MEASURES: Registry[SignalMeasure] = Registry(
    "signal measure",
    [
        SignalMeasure(
            name="dependency_snr",
            title="signal to noise, dependency",
            unit="ratio of variances",
            definition=_WHAT_SNR_IS
            + "Related: words joined by a dependency arc; unrelated: other words of the same "
            "sentence. Only where the corpus has arcs (CoNLL-U).",
            misleads=_NOT_IMPORTANCE
            + " Arcs that are hardly ever as long as a distance bin do not count there.",
            of=signal_to_noise("dependency"),
        ),
        SignalMeasure(
            name="sentence_snr",
            title="signal to noise, sentence",
            unit="ratio of variances",
            definition=_WHAT_SNR_IS
            + "Related: words of one sentence; unrelated: words of different sentences.",
            misleads=_NOT_IMPORTANCE + " Without gold sentences it is as good as the splitter.",
            of=signal_to_noise("sentence"),
        ),
        SignalMeasure(
            name="lemma_snr",
            title="signal to noise, lemma",
            unit="ratio of variances",
            definition=_WHAT_SNR_IS
            + "Related: words of one lemma that are spelled differently; unrelated: words of "
            "different lemmas. Only where the corpus has lemmas.",
            misleads=_NOT_IMPORTANCE + " There are few such pairs: small samples have none to "
            "spare, and their intervals are wide.",
            of=signal_to_noise("lemma"),
        ),
        SignalMeasure(
            name="noise_share",
            title="pairs without a known relation",
            unit="share of pairs",
            definition="Share of the high-similarity pairs (by the run's own rule) whose tokens "
            "lie in different sentences and share neither word, form, lemma nor token. Expected: "
            "the rate of all pairs of the window at the same distances.",
            misleads="What no label knows (topic, coreference) counts as noise. Far pairs have no "
            "known relation anyway: read it against its expectation.",
            of=_noise("noise_unrelated"),
            expected=_noise("noise_expected"),
        ),
        SignalMeasure(
            name="repeatability",
            title="repeatability",
            unit="correlation",
            definition="Correlation of what a head writes for the same tokens in two readings: in "
            "the second half of a window, and again in a window that starts at its middle. Vectors "
            "are centred in each reading.",
            misleads="A head that writes by position alone, or that needs the context before the "
            "middle, is low; one that copies the token is high. " + _NOT_IMPORTANCE,
            of=_repeatability,
        ),
        SignalMeasure(
            name="write_strength",
            title="write strength",
            unit="share of the residual stream's length",
            definition="E||z W_O|| / E||x||: the mean length of what the head adds to the residual "
            "stream, divided by the mean length of the stream x that enters its block.",
            misleads="A constant vector counts in full, though a bias could replace it (see "
            "written deviation). It ranks heads by what removing them changes, not by whether "
            "that matters to a task.",
            of=_strength,
        ),
        SignalMeasure(
            name="written_deviation",
            title="written deviation",
            unit="share of the residual stream's length",
            definition="sqrt(tr(W_O' Cov(z) W_O)) / E||x||: the same without the mean of what the "
            "head writes, which can be kept as a bias.",
            misleads="Layers after it can undo or ignore what a head writes. A norm between the "
            "output projection and the stream (Gemma 2) is not taken into account.",
            of=_deviation,
        ),
    ],
)


def counting_bins(pairs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which distance bins of each relation count: relation, 1, 1, bin.

    Those with enough pairs (`FEWEST_PAIRS`) from enough groups (`FEWEST_OF_GROUPS`) on both sides
    and under both labels. The number of groups is the effective one, (sum n)^2 / sum n^2: it is 1
    where nearly all pairs are those of one group.

    Args:
        pairs: Of `SUMS`, with the axis of groups.
    """
    number = pairs.sum(0)
    effective = ratio(np.square(number), np.square(pairs).sum(0))
    groups = int(pairs.any(axis=(1, 2, 3, 4)).sum())
    enough = (number >= FEWEST_PAIRS) & (effective >= FEWEST_OF_GROUPS * groups)
    counted: NDArray[np.bool_] = enough.all(axis=(1, 2), keepdims=True)
    return counted


def signal_columns(groups: Sums) -> dict[str, NDArray[np.float64]]:
    """Every measure per head with `NAME_low` and `NAME_high`, and `NAME_expected` where it has one.

    The interval (95 %) is a jackknife: each group of documents is left out in turn.

    Args:
        groups: The sums of `SUMS`, with their first axis.
    """
    totals, without = without_each_group(groups)
    columns: dict[str, NDArray[np.float64]] = {}
    for measure in SIGNAL_MEASURES:
        columns[measure.name] = measure.of(totals)
        if measure.expected is not None:
            columns[f"{measure.name}_expected"] = measure.expected(totals)
        low, high = _interval(columns[measure.name], [measure.of(sums) for sums in without])
        columns[f"{measure.name}_low"], columns[f"{measure.name}_high"] = low, high
    return columns


def without_each_group(groups: Sums) -> tuple[Sums, list[Sums]]:
    """The sums of the whole sample, and of the sample without each of its groups in turn.

    Args:
        groups: The sums of `SUMS`, with their first axis; groups without documents do not count.
    """
    # Once for the whole sample: a bin that came and went as groups are left out would not be noise.
    groups = {**groups, "pairs": groups["pairs"] * counting_bins(groups["pairs"])}
    totals = {name: values.sum(0) for name, values in groups.items()}
    there = np.flatnonzero(
        groups["write_tokens"] + groups["noise_pairs"].sum(1) + groups["pairs"].sum((1, 2, 3, 4))
    )
    return totals, [{name: totals[name] - groups[name][at] for name in groups} for at in there]


def _interval(
    value: NDArray[np.float64], without: list[NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The jackknife interval: by Student's t with one degree of freedom fewer than groups."""
    groups = len(without)
    if groups < FEWEST_GROUPS:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    replicates = np.stack(without)
    spread = np.square(replicates - replicates.mean(0)).sum(0) * (groups - 1) / groups
    normal, freedom = 1.959964, groups - 1
    # Two terms of the expansion of Student's quantile: 2.09 for 19 degrees of freedom.
    student = (
        normal
        + (normal**3 + normal) / (4 * freedom)
        + (5 * normal**5 + 16 * normal**3 + 3 * normal) / (96 * freedom**2)
    )
    half = student * np.sqrt(spread)
    return value - half, value + half
