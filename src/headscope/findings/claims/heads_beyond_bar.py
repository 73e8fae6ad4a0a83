"""Whether any head of a model shows a trait beyond a bar: one test over all heads."""

from collections.abc import Callable

import numpy as np

from headscope.findings.claims.claim import NO_UNTRAINED, Finding, Status, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.false_discovery import false_discovery, upper_p_values
from headscope.findings.resampling.resampled_run import ResampledRun, interval_of

Strength = Callable[[ResampledRun], np.ndarray]
"""How strongly each head shows the trait, per sample."""


def judge_heads_beyond_bar(
    evidence: Evidence, strength: Strength, least: float, trait: str
) -> Finding:
    """The finding that at least one head is beyond the bar, false discoveries controlled.

    The bar is `least` or the largest head of the untrained model, whichever is higher.
    """
    if not evidence.untrained:
        return NO_UNTRAINED
    bar = max(least, evidence.null_largest(strength))
    samples = strength(evidence.run)
    values = samples[0]
    if not np.isfinite(values).any():
        return no_answer(f"{trait} cannot be measured on these windows")
    above = upper_p_values(values, samples[1:], bar)
    beyond = false_discovery(above)
    all_below = np.isfinite(values) & false_discovery(1 - above)
    status: Status = "undecided"
    if beyond.any():
        status = "holds"
    elif all_below.sum() == np.isfinite(values).sum():
        status = "fails"
    strongest = int(np.nanargmax(values))
    effect = interval_of(samples[:, strongest])
    return Finding(
        status=status,
        effect=effect,
        unit=f"{trait} of the strongest head, (value - expected) / (maximum - expected)",
        null=None,
        p_value=float(above[strongest]),
        summary=(
            f"{int(beyond.sum())} of {int(np.isfinite(values).sum())} heads are beyond the bar of "
            f"{bar:.2f}; the strongest is {evidence.name_head(strongest)} with {effect}"
        ),
    )
