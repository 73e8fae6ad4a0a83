"""Claim: the pairs of some heads are repetitions of one token."""

from headscope.findings.claims.claim import Claim
from headscope.findings.claims.evidence import relative_excess
from headscope.findings.claims.special_heads import judge_special_heads
from headscope.measures.repetition import REPETITION

BAR = 0.25

REPETITION_HEADS = Claim(
    name="repetition-heads",
    title="some heads bind repetitions",
    paper="Some heads' high-similarity pairs are repetitions of the same token.",
    definition=(
        f"At least one head whose pairs are repetitions for more than {BAR:.0%} of the way from "
        "chance to all, and more than any head of the untrained model; tested over all heads with "
        "the false discovery rate at 5 %."
    ),
    null="pairs of the same text at the same distances, and the largest head of untrained models",
    breaks="no head binds repetitions more often than a random one",
    figure="roles",
    judge=lambda evidence: judge_special_heads(
        evidence, lambda run: relative_excess(run, REPETITION), BAR, "repetition"
    ),
)
