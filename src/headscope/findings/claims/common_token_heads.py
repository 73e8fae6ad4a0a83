"""Claim: the pairs of some heads gather around one token that is common in the window."""

from headscope.findings.claims.claim import Claim
from headscope.findings.claims.evidence import relative_excess
from headscope.findings.claims.heads_beyond_bar import judge_heads_beyond_bar
from headscope.measures.focal_concentration import FOCAL_CONCENTRATION

BAR = 0.5

COMMON_TOKEN = Claim(
    name="common-token-heads",
    title="some heads gather around one token",
    paper="Other heads gather around a token that is common in the text and its context.",
    definition=(
        "At least one head with (share of its pair elements that are the focal token - the token's "
        f"frequency) / (0.5 - that frequency) above {BAR:.0%} and above every head of the "
        "untrained model; tested over all heads with the false discovery rate at 5 %."
    ),
    null="the token's frequency in the window, and the largest head of the untrained models",
    breaks="focal tokens are in no more pairs than those of untrained heads",
    figure="roles",
    judge=lambda evidence: judge_heads_beyond_bar(
        evidence,
        lambda run: relative_excess(run, FOCAL_CONCENTRATION),
        BAR,
        "one focal token",
    ),
)
