"""Claims: in the final layers attention concentrates on separators, of two kinds that stand apart.

Sentence marks (. ! ?) are tokens of the text. Special separators ([SEP], </s>) are added for the
model: BERT's own separator token, the natural reading of the paper.
"""

from collections.abc import Callable

from headscope.findings.claims.claim import (
    NO_UNTRAINED,
    Claim,
    Finding,
    Test,
    find_all,
    no_answer,
)
from headscope.findings.claims.evidence import Evidence
from headscope.measures.measure import Measure, ratio
from headscope.measures.separator_attention import SEPARATOR_ATTENTION
from headscope.measures.special_separator_attention import SPECIAL_SEPARATOR_ATTENTION

TIMES_THE_NULL = 2.0
"""Attention concentrates where separators get more than this many times the null's share."""


def _among_high(column: str) -> Measure:
    """The same by the attention threshold: the share of high-attention tokens that are such."""
    return Measure(
        name=f"{column}_share",
        title="high-attention tokens",
        unit="share of high-attention tokens",
        numerator=column,
        denominator="high_tokens",
        definition="The share of the high-attention tokens that are separators.",
        misleads="With a high threshold, few tokens are left.",
    )


def _judge_attention_on(
    words: str, by_mass: Measure, by_threshold: Measure
) -> Callable[[Evidence], Finding]:
    """What judges one kind of separators.

    Args:
        words: What the separators are called in a summary.
        by_mass: The share of attention on them.
        by_threshold: The share of the high-attention tokens that are such.
    """

    def judge(evidence: Evidence) -> Finding:
        thresholds = by_threshold.denominator in evidence.run.columns
        measure = by_threshold if thresholds else by_mass
        if measure.numerator not in evidence.run.columns:
            return no_answer("an older version made this run, without this measure: analyse again")
        if not evidence.untrained:
            return NO_UNTRAINED
        if missing := evidence.missing_parts("first", "last"):
            return no_answer(missing)
        first, final = evidence.part("first"), evidence.part("last")
        trained = evidence.run.pooled(measure, final)
        null = evidence.null(lambda run: run.pooled(measure, final))
        if not null[0] > 0:
            return no_answer(f"the windows have no {words}")
        early = evidence.run.pooled(measure, first)
        lift, rise = evidence.interval(ratio(trained, null)), evidence.interval(trained - early)
        untrained = evidence.interval(null)
        what = "high-attention tokens" if thresholds else "attention"
        return find_all(
            [
                Test(
                    name="final third against the untrained model",
                    effect=lift,
                    bar=TIMES_THE_NULL,
                    unit="times the untrained model's share",
                    null=untrained,
                ),
                Test(
                    name="final third against the first",
                    effect=rise,
                    bar=0.0,
                    unit=f"share of the {what}, final third minus first third",
                    null=evidence.interval(early),
                ),
            ],
            summary=(
                f"{trained[0]:.1%} of the {what} of {evidence.span(final)} "
                f"{'are' if thresholds else 'falls on'} {words}, {lift} times the "
                f"{untrained.value:.1%} of the untrained model, and {early[0]:.1%} in "
                f"{evidence.span(first)}{evidence.some_layers()}"
            ),
        )

    return judge


def _claim(name: str, title: str, kind: str, judge: Callable[[Evidence], Finding]) -> Claim:
    return Claim(
        name=name,
        title=title,
        paper="In the final layers the attention map concentrates on sentence separators.",
        definition=(
            f"The share of attention on {kind} in the final third of the layers: more than "
            f"{TIMES_THE_NULL:g} times that of the untrained model on windows of the same run, and "
            "more than in the first third. By attention threshold: the same for the share of the "
            "high-attention tokens that are such."
        ),
        null="untrained model, whose attention is spread by number of tokens; the first third",
        breaks=f"{kind} get no more attention than their number explains, or no more than early on",
        figure="separators",
        judge=judge,
        varies_with="attention_threshold",
    )


SEPARATORS = _claim(
    "separators",
    "attention gathers on . ! ?",
    "sentence marks (. ! ?)",
    _judge_attention_on("sentence marks", SEPARATOR_ATTENTION, _among_high("high_separators")),
)

SPECIAL_SEPARATORS = _claim(
    "special-separators",
    "attention gathers on [SEP]",
    "special separators ([SEP], </s>)",
    _judge_attention_on(
        "special separators",
        SPECIAL_SEPARATOR_ATTENTION,
        _among_high("high_special_separators"),
    ),
)
