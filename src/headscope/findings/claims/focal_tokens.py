"""Claim: each head of a layer has a focal token of its own."""

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, Test, find_all, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.measures.focal_exclusiveness import FOCAL_EXCLUSIVENESS
from headscope.measures.measure import ratio

INDEPENDENT = "focal_independent"
"""The column with the number of distinct focal tokens that independent heads would have."""


def _judge(evidence: Evidence) -> Finding:
    if evidence.heads < 2:
        return no_answer("a layer of one head has one focal token")
    if not evidence.untrained:
        return NO_UNTRAINED
    heads = evidence.heads
    trained = heads * evidence.run.pooled(FOCAL_EXCLUSIVENESS)
    null = heads * evidence.null(lambda run: run.pooled(FOCAL_EXCLUSIVENESS))
    effect, untrained = evidence.interval(trained - null), evidence.interval(null)
    tests = [
        Test(
            name="against the untrained model",
            effect=effect,
            bar=0.0,
            unit="distinct focal tokens of a layer, beyond the untrained model",
            null=untrained,
        )
    ]
    said = ""
    sample = evidence.sample
    if sample is not None and INDEPENDENT in sample.run.columns:
        texts = sample.run.summed(FOCAL_EXCLUSIVENESS.denominator)
        expected = heads * ratio(sample.run.summed(INDEPENDENT), texts)
        difference = sample.interval(heads * sample.run.pooled(FOCAL_EXCLUSIVENESS) - expected)
        tests.append(
            Test(
                name="against heads that choose independently",
                effect=difference,
                bar=0.0,
                unit="distinct focal tokens of a layer, beyond heads that choose independently "
                "with the same preferences",
                null=sample.interval(expected),
            )
        )
        said = (
            f"; heads that choose independently, with the same preferences for tokens, "
            f"{expected[0]:.1f}: a difference of {difference}"
        )
    return find_all(
        tests,
        summary=(
            f"{trained[0]:.1f} distinct focal tokens over the {heads} heads of a layer (the paper: "
            f"9 to 10 of 12), the untrained model {untrained.value:.1f}: a difference of {effect}"
            f"{said}{evidence.some_layers()}"
        ),
    )


FOCAL_TOKENS = Claim(
    name="focal-tokens",
    title="each head has its own focal token",
    paper="Each head focuses on a token of its own: 9 to 10 distinct ones over the 12 heads.",
    definition=(
        "The number of distinct focal tokens over the heads of a layer, averaged over layers and "
        "windows: more than that of the untrained model on windows of the same run, and more than "
        "heads would have that choose independently of each other with the preferences for tokens "
        "that the layer has (estimated on other documents, on the sample of the run)."
    ),
    null="untrained model, and heads that choose independently with the same preferences",
    breaks="all heads choose the same focal token, or no more distinct ones than chance gives",
    figure="focal",
    judge=_judge,
)
