"""Claim: the pairs of some heads are repetitions of one token."""

from headscope.findings.claims.claim import Claim
from headscope.findings.claims.evidence import relative_excess
from headscope.findings.claims.heads_beyond_bar import judge_heads_beyond_bar
from headscope.measures.repetition import REPETITION

BAR = 0.25

REPETITION_HEADS = Claim(
    name="repetition-heads",
    title="some heads bind repetitions",
    paper="Some heads' high-similarity pairs are repetitions of the same token.",
    definition=(
        "At least one head with (share of repetitions - expected) / (1 - expected) above "
        f"{BAR:.0%} and above what the strongest head of an untrained model has, on average over "
        "seeds; tested over all heads with the false discovery rate at 5 %."
    ),
    null="pairs of the same window at the same distances, and the strongest untrained head",
    breaks="no head binds repetitions more often than an untrained one",
    figure="roles",
    judge=lambda evidence: judge_heads_beyond_bar(
        evidence, lambda run: relative_excess(run, REPETITION), BAR, "repetition"
    ),
)
