"""Claim: in the final layers attention concentrates on sentence separators."""

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, against_bar, no_answer
from headscope.findings.claims.evidence import Evidence, layer_span
from headscope.findings.resampling.resampled_run import interval_of
from headscope.measures.measure import ratio
from headscope.measures.separator_attention import SEPARATOR_ATTENTION

TIMES_THE_NULL = 2.0
"""Attention concentrates where separators get more than this many times the null's share."""


def _judge(evidence: Evidence) -> Finding:
    if not evidence.untrained:
        return NO_UNTRAINED
    final = evidence.final_layers
    trained = evidence.run.pooled(SEPARATOR_ATTENTION, final)
    null = evidence.null(lambda run: run.pooled(SEPARATOR_ATTENTION, final))
    if not null[0] > 0:
        return no_answer("the windows have no separators")
    lift, untrained = interval_of(ratio(trained, null)), interval_of(null)
    return Finding(
        status=against_bar(lift, TIMES_THE_NULL),
        effect=lift,
        unit="times the untrained model's share",
        null=untrained,
        p_value=None,
        summary=(
            f"{trained[0]:.1%} of the attention of {layer_span(final)} falls on . ! ?, "
            f"{lift} times the {untrained.value:.1%} of the untrained model"
        ),
    )


SEPARATORS = Claim(
    name="separators",
    title="attention gathers on separators",
    paper="In the final layers the attention map concentrates on sentence separators.",
    definition=(
        "The share of attention on . ! ? in the final third of the layers, divided by that of "
        f"the untrained model on windows of the same run. Holds above {TIMES_THE_NULL:g}."
    ),
    null="untrained model, several seeds: even attention is spread by number of tokens",
    breaks="separators get no more attention than their number explains",
    figure="separators",
    judge=_judge,
)
