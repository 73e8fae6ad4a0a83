"""Claim: each head of a layer has a focal token of its own."""

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, against_bar, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.resampled_run import interval_of
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS


def _judge(evidence: Evidence) -> Finding:
    if evidence.heads < 2:
        return no_answer("a layer of one head has one focal token")
    if not evidence.untrained:
        return NO_UNTRAINED
    heads = evidence.heads
    trained = heads * evidence.run.pooled(FOCAL_EXCLUSIVENESS)
    null = heads * evidence.null(lambda run: run.pooled(FOCAL_EXCLUSIVENESS))
    effect, untrained = interval_of(trained - null), interval_of(null)
    return Finding(
        status=against_bar(effect, 0.0),
        effect=effect,
        unit="distinct focal tokens of a layer, beyond the untrained model",
        null=untrained,
        p_value=None,
        summary=(
            f"{trained[0]:.1f} distinct focal tokens over the {heads} heads of a layer (the paper: "
            f"9 to 10 of 12), the untrained model {untrained.value:.1f}: a difference of {effect}"
        ),
    )


FOCAL_TOKENS = Claim(
    name="focal-tokens",
    title="each head has its own focal token",
    paper="Each head focuses on a token of its own: 9 to 10 distinct ones over the 12 heads.",
    definition=(
        "The number of distinct focal tokens over the heads of a layer, averaged over layers and "
        "windows, minus that of the untrained model on windows of the same run. Holds above 0."
    ),
    null="untrained model: heads that choose at random differ from each other, too",
    breaks="all heads choose the same focal token, or no more distinct ones than untrained heads",
    figure="focal",
    judge=_judge,
)
