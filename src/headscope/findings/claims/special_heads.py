"""Whether a model has heads of a special kind: a test of every head at once."""

from collections.abc import Callable

import numpy as np

from headscope.findings.claims.claim import Finding, Status, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.false_discovery import false_discovery, upper_p_values
from headscope.findings.resampling.resampled_run import ResampledRun, interval_of

Strength = Callable[[ResampledRun], np.ndarray]
"""How strongly each head is of the kind, per sample."""


def judge_special_heads(evidence: Evidence, strength: Strength, least: float, kind: str) -> Finding:
    """Holds when at least one head is beyond the bar, false discoveries controlled.

    The bar is `least` or the largest head of the untrained model, whichever is higher.
    """
    if not evidence.untrained:
        return no_answer("there is no untrained model to compare with: analyse with --nulls 200")
    bar = max(least, evidence.null_largest(strength))
    samples = strength(evidence.run)
    values = samples[0]
    if not np.isfinite(values).any():
        return no_answer(f"{kind} cannot be measured on these texts")
    above = upper_p_values(values, samples[1:], bar)
    special = false_discovery(above)
    all_below = np.isfinite(values) & false_discovery(1 - above)
    status: Status = "undecided"
    if special.any():
        status = "holds"
    elif all_below.sum() == np.isfinite(values).sum():
        status = "fails"
    strongest = int(np.nanargmax(values))
    effect = interval_of(samples[:, strongest])
    return Finding(
        status=status,
        effect=effect,
        unit=f"{kind}, strongest head, of the way from chance to all",
        null=None,
        p_value=float(above[strongest]),
        summary=(
            f"{int(special.sum())} of {int(np.isfinite(values).sum())} heads are beyond the bar of "
            f"{bar:.2f}; the strongest is {evidence.name_head(strongest)} with {effect}"
        ),
    )
