"""Signs of a broken measurement, each with its likely cause.

They are the break conditions and failure signatures of the method: what a sound measurement of a
trained model does not show.
"""

from dataclasses import dataclass

import numpy as np

from headscope.findings.claims.evidence import Evidence
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.diagonal_share import DIAGONAL_SHARE
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.repetition import REPETITION

DIAGONAL_DOMINATES = 0.5
"""Above it the diagonal outweighs all pairs together. Raw heads of the demo model have 0.11."""
NEAR_RANDOM = 0.95
"""Pairs at this share of the mean distance of random pairs are as far apart as those."""
NOT_NEAR = 0.9
"""Middle layers whose pairs are farther apart are not near the diagonal. Demo model: 0.53."""
ALIKE = 0.005
"""Heads of a layer whose mean distances differ by less, relative to their mean, are copies."""
FEW_FOCAL = 1.5
"""With fewer distinct focal tokens, nearly all heads of a layer choose the same one."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that a sound measurement of a trained model does not show."""

    name: str
    seen: bool
    evidence: str
    cause: str
    """What it most likely means where it is seen."""


def sanity_signs(evidence: Evidence) -> list[Sign]:
    """The signs of a broken measurement in one stack, seen or not.

    Args:
        evidence: One stack of a run, by the run's own choice.
    """
    return [
        _diagonal(evidence),
        _uniform(evidence),
        _identical_heads(evidence),
        _one_focal_token(evidence),
        _no_short_range(evidence),
        _no_sentences(evidence),
    ]


def _diagonal(evidence: Evidence) -> Sign:
    seen, found = False, "the share of the diagonal was not measured"
    # Runs of older versions do not have it.
    if DIAGONAL_SHARE.numerator in evidence.run.columns:
        share = evidence.run.pooled(DIAGONAL_SHARE)[0]
        heads = evidence.run.per_head(DIAGONAL_SHARE)[0]
        heads = heads[np.isfinite(heads)]
        seen = bool(share > DIAGONAL_DOMINATES)
        dominated = int((heads > DIAGONAL_DOMINATES).sum())
        found = (
            f"the diagonal of C has {share:.0%} of its sum of squares, and more than "
            f"{DIAGONAL_DOMINATES:.0%} in {dominated} of {len(heads)} heads"
        )
    return Sign(
        name="diagonal dominates",
        seen=seen,
        evidence=found,
        cause="windows too short for the width of the heads, or vectors that have next to nothing "
        "in common: pairs are then chosen among small numbers",
    )


def _uniform(evidence: Evidence) -> Sign:
    run = evidence.run
    distance = run.pooled(MEAN_DISTANCE)[0] / run.pooled_expected(MEAN_DISTANCE)[0]
    repetition = run.excess(REPETITION)[0]
    null = evidence.null(lambda r: r.excess(REPETITION))[0] if evidence.untrained else 0.05
    return Sign(
        name="uniform or noisy C",
        seen=bool(distance > NEAR_RANDOM and repetition < max(1.5 * null, 0.02)),
        evidence=(
            f"the mean distance of the pairs is {distance:.2f} times that of random pairs, and "
            f"{repetition:+.1%} of them repeat a token, compared with chance"
        ),
        cause="an untrained model, or head outputs taken at the wrong place",
    )


def _identical_heads(evidence: Evidence) -> Sign:
    distances = evidence.run.per_head(MEAN_DISTANCE)[0].reshape(len(evidence.layers), -1)
    with np.errstate(invalid="ignore"):
        spread = np.nanstd(distances, axis=1) / np.nanmean(distances, axis=1)
    largest = float(np.nanmax(spread)) if np.isfinite(spread).any() else float("nan")
    return Sign(
        name="heads alike",
        seen=bool(evidence.heads > 1 and largest < ALIKE),
        evidence=(
            f"the mean distances of the heads of a layer have a standard deviation of at most "
            f"{largest:.1%} of their mean"
        ),
        cause="heads not separated: one tensor taken for all heads of a layer",
    )


def _one_focal_token(evidence: Evidence) -> Sign:
    distinct = evidence.heads * evidence.run.pooled(FOCAL_EXCLUSIVENESS)[0]
    return Sign(
        name="one focal token",
        seen=bool(evidence.heads > 1 and distinct < FEW_FOCAL),
        evidence=f"{distinct:.1f} distinct focal tokens over the {evidence.heads} heads of a layer",
        cause="heads not separated (a tensor taken after the output projection), or a token whose "
        "vectors are so long that they fill the pairs of every head: try --similarity cosine",
    )


def _no_short_range(evidence: Evidence) -> Sign:
    seen, found = False, "no layer of the middle third was measured"
    if middle := evidence.part("middle"):
        run = evidence.run
        near = run.pooled(MEAN_DISTANCE, middle)[0] / run.pooled_expected(MEAN_DISTANCE, middle)[0]
        seen = bool(near > NOT_NEAR)
        found = (
            f"the mean distance of the pairs of {evidence.span(middle)} is {near:.2f} times that "
            "of random pairs"
        )
    return Sign(
        name="no short range in the middle",
        seen=seen,
        evidence=found,
        cause="an untrained model, positions that do not reach the model, or a model in which the "
        "progression of the paper does not exist",
    )


def _no_sentences(evidence: Evidence) -> Sign:
    seen, found = False, "sentence contrast was not measured (no two sentences, or --minimal)"
    if evidence.run.total(BLOCK_CONTRAST.denominator):
        final = evidence.part("last") or evidence.layers
        contrast = evidence.interval(evidence.run.pooled(BLOCK_CONTRAST, final))
        seen = bool(contrast.low <= 0)
        found = f"sentence contrast of the final layers {contrast} standard deviations"
    return Sign(
        name="no sentence structure",
        seen=seen,
        evidence=found,
        cause="an untrained model, a tokenizer that is not the model's, or wrong sentence ids",
    )
