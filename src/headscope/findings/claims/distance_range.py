"""Claim: similarity is long-range in the first layer, and near the diagonal later."""

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, Test, find_all, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.resampled_run import ResampledRun, Samples
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.measure import ratio

LEAST = 0.1
"""The smallest step that counts, as a share of the mean distance of random pairs."""


def _judge(evidence: Evidence) -> Finding:
    if not evidence.untrained:
        return NO_UNTRAINED
    if missing := evidence.missing_parts("middle"):
        return no_answer(missing)
    if evidence.layers[0] != 1:
        return no_answer("layer 1 was not measured; leave out --layers")
    middle_layers = evidence.part("middle")

    def step(run: ResampledRun) -> Samples:
        first = run.pooled(MEAN_DISTANCE, run.layers[:1])
        fall: Samples = first - run.pooled(MEAN_DISTANCE, middle_layers)
        return ratio(fall, run.pooled_expected(MEAN_DISTANCE))

    null = evidence.null(step)
    effect = evidence.interval(step(evidence.run) - null)
    first, middle = (
        evidence.run.pooled(MEAN_DISTANCE, layers)[0] for layers in ((1,), middle_layers)
    )
    of_random_pairs = evidence.run.pooled_expected(MEAN_DISTANCE)[0]
    return find_all(
        [
            Test(
                name="layer 1 against the middle third",
                effect=effect,
                bar=LEAST,
                unit="of the mean distance of random pairs, beyond the untrained model",
                null=evidence.interval(null),
            )
        ],
        summary=(
            f"mean distance {first:.1f} tokens in layer 1, {middle:.1f} in "
            f"{evidence.span(middle_layers)} (random pairs {of_random_pairs:.1f}): a step of "
            f"{effect} of that, beyond the untrained model's {null[0]:z.2f}{evidence.some_layers()}"
        ),
    )


RANGE = Claim(
    name="range",
    title="long range first, then short",
    paper="Layer 1: similarity over long distances. Middle layers: near the diagonal.",
    definition=(
        "The mean distance of the pairs falls from the first layer to the middle third, as a share "
        "of the mean distance of all pairs; minus the same step of the untrained model. Holds "
        f"above {LEAST:g}."
    ),
    null="untrained model; random pairs give the scale",
    breaks="no concentration near the diagonal in the middle layers",
    figure="distance-layers",
    judge=_judge,
)
