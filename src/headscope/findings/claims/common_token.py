"""Claim: the pairs of some heads gather around a token that is common in the text."""

from headscope.findings.claims.claim import Claim
from headscope.findings.claims.evidence import relative_excess
from headscope.findings.claims.special_heads import judge_special_heads
from headscope.measures.focal import FOCAL_CONCENTRATION

BAR = 0.5

COMMON_TOKEN = Claim(
    name="common-token-heads",
    title="some heads gather around one token",
    paper="Other heads gather around a token that is common in the text and its context.",
    definition=(
        f"At least one head whose focal token takes more than {BAR:.0%} of the way from its "
        "frequency to one element of every pair, and more than in any head of the untrained model; "
        "tested over all heads with the false discovery rate at 5 %."
    ),
    null="the token's frequency in the text, and the largest head of untrained models",
    breaks="focal tokens take no more pairs than in random heads",
    figure="roles",
    judge=lambda evidence: judge_special_heads(
        evidence,
        lambda run: relative_excess(run, FOCAL_CONCENTRATION),
        BAR,
        "one focal token",
    ),
)
