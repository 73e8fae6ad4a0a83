"""Claim: similarity is long-range first, short-range in the middle, longer again at the end."""

from headscope.findings.claims.claim import Claim, Finding, Status, no_answer
from headscope.findings.claims.evidence import Evidence, layer_span
from headscope.findings.resampling.resampled_run import interval_of
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.measure import ratio

LEAST = 0.1
"""The smallest step that counts, as a share of the mean distance of random pairs."""


def _judge(evidence: Evidence) -> Finding:
    if len(evidence.layers) < 3:
        return no_answer(f"{len(evidence.layers)} layers have no first, middle and final part")
    run = evidence.run
    middle_layers, final_layers = evidence.middle_layers, evidence.final_layers
    of_random_pairs = run.pooled_expected(MEAN_DISTANCE)
    middle = run.pooled(MEAN_DISTANCE, middle_layers)
    first = run.pooled(MEAN_DISTANCE, evidence.layers[:1])
    final = run.pooled(MEAN_DISTANCE, final_layers)
    fall = interval_of(ratio(first - middle, of_random_pairs))
    rise = interval_of(ratio(final - middle, of_random_pairs))
    status: Status = "undecided"
    if fall.low > LEAST and rise.low > LEAST:
        status = "holds"
    elif fall.high < LEAST or rise.high < LEAST:
        status = "fails"
    smaller = fall if fall.value < rise.value else rise
    return Finding(
        status=status,
        effect=smaller,
        unit="of the mean distance of random pairs, the smaller of the two steps",
        null=None,
        p_value=None,
        summary=(
            f"mean distance {first[0]:.1f} tokens in layer {evidence.layers[0]}, {middle[0]:.1f} "
            f"in {layer_span(middle_layers)}, {final[0]:.1f} in {layer_span(final_layers)} "
            f"(random pairs {of_random_pairs[0]:.1f}): down by {fall} of that, then up by {rise}"
        ),
    )


RANGE = Claim(
    name="range",
    title="long, short, long range",
    paper=(
        "Layer 1: similarity over long distances. Middle layers: near the diagonal. Final layers: "
        "spread within the sentence."
    ),
    definition=(
        "The mean distance of the pairs falls from the first layer to the middle third, and rises "
        f"from there to the final third, each by more than {LEAST:.0%} of the mean distance of all "
        "pairs."
    ),
    null="random pairs: the mean distance of all pairs of a window, in every layer",
    breaks="no concentration near the diagonal in the middle layers",
    figure="distance-layers",
    judge=_judge,
)
