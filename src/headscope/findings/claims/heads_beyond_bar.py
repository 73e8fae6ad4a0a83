"""Whether any head of a model shows a trait beyond a bar: one test over all heads."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64

from headscope.findings.claims.claim import NO_UNTRAINED, Finding, Status, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.false_discovery import false_discovery, upper_p_values
from headscope.findings.resampling.resampled_run import ResampledRun, Samples

Strength = Callable[[ResampledRun], Float64[np.ndarray, "sample head_of_any_layer"]]
"""How strongly each head shows the trait, per sample."""


def judge_heads_beyond_bar(
    evidence: Evidence, strength: Strength, least: float, trait: str
) -> Finding:
    """The finding that at least one head is beyond the bar, false discoveries controlled.

    The bar is `least`, or what the strongest head of an untrained model has, on average over seeds,
    whichever is higher. More seeds make that average more exact, and do not move it: the largest
    head of all seeds would grow with their number.

    The strongest head of the run is strong also by chance, since it was chosen. So its strength is
    measured on documents that did not choose it: chosen on one half, measured on the other, and
    the other way round.

    Args:
        evidence: One stack.
        strength: How strongly each head shows the trait.
        least: The least strength that counts.
        trait: What it is called in a summary.
    """
    if not evidence.untrained:
        return NO_UNTRAINED
    samples = strength(evidence.run)
    values = samples[0]
    chosen = _strength_of_chosen(evidence.run, strength)
    if chosen is None:
        return no_answer(f"{trait} cannot be measured on these windows, or on half of them")
    bar = _bar(evidence, strength, least)
    beyond_bar = samples - bar[:, None]
    above = upper_p_values(beyond_bar[0], beyond_bar[1:], evidence.run.effective_documents)
    beyond = false_discovery(above)
    there = np.isfinite(values)
    all_below = there & false_discovery(1 - above)
    status: Status = "undecided"
    if beyond.any():
        status = "holds"
    elif all_below.sum() == there.sum():
        status = "fails"
    strongest = np.argsort(np.where(there, -values, np.inf))
    effect = evidence.interval(chosen, groups=2)
    named = [int(head) for head in strongest if beyond[head]] or [int(strongest[0])]
    return Finding(
        status=status,
        effect=effect,
        unit=f"{trait} of the strongest head on documents that did not choose it, "
        "(value - expected) / (maximum - expected)",
        null=evidence.interval(bar),
        p_value=float(above[strongest[0]]),
        summary=(
            f"{int(beyond.sum())} of {int(there.sum())} heads are beyond the bar of {bar[0]:.2f}; "
            f"the strongest is {evidence.name_head(int(strongest[0]))} with {effect}"
            f"{evidence.some_layers()}"
        ),
        heads=tuple(evidence.name_head(head) for head in named),
    )


def _bar(evidence: Evidence, strength: Strength, least: float) -> Samples:
    """The bar, with its own uncertainty where untrained models set it."""
    bar = evidence.null(lambda run: _strongest(strength(run)))
    return bar if bar[0] > least else np.full_like(bar, least)


def _strongest(samples: Float64[np.ndarray, "sample head_of_any_layer"]) -> Samples:
    """The head that is strongest in the run itself, in every sample.

    The strongest head of each sample would be another one each time, and stronger: resampling adds
    noise, and the largest of many grows with it.
    """
    strengths = samples[0]
    if not np.isfinite(strengths).any():
        return np.full(len(samples), np.nan)
    strongest: Samples = samples[:, int(np.nanargmax(strengths))]
    return strongest


def _strength_of_chosen(run: ResampledRun, strength: Strength) -> Samples | None:
    """None if one half of the documents has no head of any strength."""
    one, other = (strength(half) for half in run.halves())
    if not (np.isfinite(one[0]).any() and np.isfinite(other[0]).any()):
        return None
    chosen: Samples = (
        other[:, int(np.nanargmax(one[0]))] + one[:, int(np.nanargmax(other[0]))]
    ) / 2
    return chosen
