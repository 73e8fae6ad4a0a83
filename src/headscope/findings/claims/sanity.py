"""Signs of a broken measurement, each with its likely cause."""

from dataclasses import dataclass

import numpy as np

from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.resampled_run import interval_of
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.repetition import REPETITION


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that a sound measurement of a trained model does not show."""

    name: str
    seen: bool
    evidence: str
    cause: str
    """What it most likely means where it is seen."""


def sanity_signs(evidence: Evidence) -> list[Sign]:
    """The signs of a broken measurement in one stack."""
    return [_uniform(evidence), _identical_heads(evidence), _no_sentences(evidence)]


def _uniform(evidence: Evidence) -> Sign:
    run = evidence.run
    distance = run.pooled(MEAN_DISTANCE)[0] / run.pooled_expected(MEAN_DISTANCE)[0]
    repetition = run.excess(REPETITION)[0]
    null = evidence.null(lambda r: r.excess(REPETITION))[0] if evidence.untrained else 0.05
    return Sign(
        name="uniform C",
        seen=bool(distance > 0.95 and repetition < max(1.5 * null, 0.02)),
        evidence=(
            f"the mean distance of the pairs is {distance:.2f} times that of random pairs, and "
            f"{repetition:+.1%} of them repeat a token, compared with chance"
        ),
        cause="an untrained model, or head outputs taken at the wrong place",
    )


def _identical_heads(evidence: Evidence) -> Sign:
    distinct = evidence.heads * evidence.run.pooled(FOCAL_EXCLUSIVENESS)[0]
    per_head = evidence.run.per_head(MEAN_DISTANCE)[0]
    spread = float(np.nanstd(per_head))
    return Sign(
        name="heads alike",
        seen=bool(evidence.heads > 1 and (distinct < 1.5 or spread < 1e-6)),
        evidence=(
            f"{distinct:.1f} distinct focal tokens over {evidence.heads} heads; the mean distances "
            f"of heads have a standard deviation of {spread:.1f} tokens"
        ),
        cause="heads not separated: a tensor taken after the output projection",
    )


def _no_sentences(evidence: Evidence) -> Sign:
    seen, found = False, "sentence contrast was not measured (no two sentences, or --minimal)"
    if evidence.run.total(BLOCK_CONTRAST.denominator):
        contrast = interval_of(evidence.run.pooled(BLOCK_CONTRAST, evidence.final_layers))
        seen = bool(contrast.low <= 0)
        found = f"sentence contrast of the final layers {contrast} standard deviations"
    return Sign(
        name="no sentence structure",
        seen=seen,
        evidence=found,
        cause="an untrained model, a tokenizer that is not the model's, or wrong sentence ids",
    )
