"""Claim: the pairs of some heads gather around one token that is common in the window."""

from dataclasses import replace

from headscope.findings.claims.claim import Claim, Finding, no_answer
from headscope.findings.claims.evidence import Evidence, relative_excess
from headscope.findings.claims.heads_beyond_bar import judge_heads_beyond_bar
from headscope.measures.common_token import COMMON_TOKEN
from headscope.measures.common_token_context import COMMON_TOKEN_CONTEXT
from headscope.measures.common_token_rank import COMMON_TOKEN_RANK

BAR = 0.5


def _judge(evidence: Evidence) -> Finding:
    columns = evidence.run.columns
    if COMMON_TOKEN.numerator not in columns:
        return no_answer("an older version made this run, without this measure: analyse again")
    finding = judge_heads_beyond_bar(
        evidence, lambda run: relative_excess(run, COMMON_TOKEN), BAR, "one common token"
    )
    # The sample has neither ranks nor contexts.
    if finding.effect is None or COMMON_TOKEN_CONTEXT.numerator not in columns:
        return finding
    rank = evidence.run.pooled(COMMON_TOKEN_RANK)[0]
    near, expected = (
        pooled(COMMON_TOKEN_CONTEXT)[0]
        for pooled in (evidence.run.pooled, evidence.run.pooled_expected)
    )
    return replace(
        finding,
        summary=(
            f"{finding.summary}; over all heads the common token is number {rank:.1f} by frequency "
            f"in its window, and {near:.0%} of its partners lie within 5 tokens of an occurrence "
            f"(expected {expected:.0%})"
        ),
    )


COMMON_TOKEN_HEADS = Claim(
    name="common-token-heads",
    title="some heads gather around one token",
    paper="Other heads gather around a token that is common in the text and its context.",
    definition=(
        "Pairs of one token with itself are set aside: they are repetition. Of the others, the "
        "share that contain the head's common token, minus the share that its frequency gives, "
        f"relative to the most possible: at least one head above {BAR:.0%} and above what the "
        "strongest head of an untrained model has, on average over seeds; tested over all heads "
        "with the false discovery rate at 5 %."
    ),
    null="the token's frequency in the window, and the strongest untrained head",
    breaks="common tokens are in no more pairs than those of untrained heads",
    figure="roles",
    judge=_judge,
)
