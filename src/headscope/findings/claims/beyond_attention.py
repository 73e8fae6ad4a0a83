"""Claim: similarity shows structure that attention does not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from headscope.findings.claims.claim import NO_SAMPLE, NO_UNTRAINED, Claim, Finding, Status, Test
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.bootstrap import Interval
from headscope.findings.resampling.resampled_run import ResampledRun, Samples
from headscope.measures.measure import ratio
from headscope.measures.same_sentence import SAME_SENTENCE

LEAST = 0.01
"""The least that counts: one pair in a hundred."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of structure: what two tokens of a pair have in common."""

    column: str
    words: str


_KINDS = (_Kind("repetition", "repetitions"), _Kind("sentence", "pairs inside a sentence"))


def _alone(run: ResampledRun, kind: _Kind) -> tuple[Samples, Samples]:
    """Structure that similarity shows alone, and that attention shows alone, as shares of pairs.

    Of attention, whichever of its two readings shows more: the map, or the rows.
    """
    ours = ratio(run.summed(f"{kind.column}_beyond_attention"), run.summed("pairs"))
    of_map = ratio(run.summed(f"{kind.column}_of_map"), run.summed("map_pairs"))
    of_rows = ratio(run.summed(f"{kind.column}_of_rows"), run.summed("row_pairs"))
    # Cross attention has no map over pairs of one text.
    theirs = np.fmax(np.fmax(of_map, of_rows), 0.0)
    return ours, theirs


def _more(run: ResampledRun, kind: _Kind) -> Samples:
    ours, theirs = _alone(run, kind)
    difference: Samples = ours - theirs
    return difference


def _where_one_is_enough(evidence: Evidence, kinds: Sequence[Samples]) -> list[Interval]:
    """The interval of each kind of structure where any one is enough for the claim to hold.

    With several kinds, one exceeds the bar by chance more easily: the lower ends are those for as
    many questions. A kind that falls short of the bar by its whole interval is no candidate any
    more, and does not count as a question: were it counted, the verdict would hang on the other
    kind alone, and be too cautious. The claim fails only if all kinds fall short, each in its own
    interval: the upper ends are those for one question. Source: Romano, Shaikh and Wolf 2014, "A
    practical two-step method for testing moment inequalities".
    """
    alone = [evidence.interval(samples) for samples in kinds]
    candidates = max(1, sum(not one.high < LEAST for one in alone))
    return [
        replace(one, low=evidence.interval(samples, questions=candidates).low)
        for one, samples in zip(alone, kinds, strict=True)
    ]


def _judge(evidence: Evidence) -> Finding:
    sample = evidence.sample
    if sample is None:
        return NO_SAMPLE
    if not sample.untrained:
        return NO_UNTRAINED
    run = sample.run
    # If all pairs lie in one sentence, or none do, sentences show nothing.
    in_sentence = run.pooled_expected(SAME_SENTENCE)[0]
    kinds = [kind for kind in _KINDS if kind.column != "sentence" or 0 < in_sentence < 1]
    # An untrained model whose attention shows more than its similarity is no merit of ours.
    nulls = [np.maximum(sample.null(partial(_more, kind=kind)), 0.0) for kind in kinds]
    beyond = [_more(run, kind) - null for kind, null in zip(kinds, nulls, strict=True)]
    effects = _where_one_is_enough(sample, beyond)
    tests, found = [], []
    for kind, null, effect in zip(kinds, nulls, effects, strict=True):
        ours, theirs = _alone(run, kind)
        tests.append(
            Test(
                name=kind.words,
                effect=effect,
                bar=LEAST,
                unit=f"share of the pairs that are {kind.words} beyond chance, shown by similarity "
                "alone minus by attention alone, minus the same for the untrained model",
                null=sample.interval(null),
            )
        )
        found.append(
            f"{kind.words} beyond chance are {ours[0]:.1%} of similarity's pairs that attention "
            f"does not show, and {theirs[0]:.1%} of attention's that similarity does not: a "
            f"difference of {effect.percent} beyond the untrained model"
        )
    statuses = [test.status for test in tests]
    status: Status = "undecided"
    if "holds" in statuses:
        status = "holds"
    elif all(one == "fails" for one in statuses):
        status = "fails"
    best = max(tests, key=lambda test: test.effect.value)
    shared = ratio(run.summed("row_shared"), run.summed("pairs"))[0]
    mapped = ratio(run.summed("map_shared"), run.summed("pairs"))[0]
    return Finding(
        status=status,
        effect=best.effect,
        unit=best.unit,
        null=best.null,
        summary=(
            f"{mapped:.0%} of the pairs are also pairs of the attention map, {shared:.0%} of "
            f"attention rows; {'; '.join(found)}{evidence.some_layers()}"
        ),
        tests=tuple(tests),
    )


BEYOND_ATTENTION = Claim(
    name="beyond-attention",
    title="similarity says more than attention",
    paper="The context similarity matrix reveals structure that the attention map does not.",
    definition=(
        "By the same rule, pairs are taken from C, from the attention map (A + A') / 2 and from "
        "attention rows, A A'. Structure that C shows alone: pairs of C that are in neither other "
        "set and repeat a token, or lie in one sentence, minus the number expected at their "
        "distances, as a share of its pairs. The same for what attention shows and C does not, by "
        "whichever of its two readings shows more. The difference, minus that of the untrained "
        f"model where it is positive, must exceed {LEAST:g} for one of the two kinds of structure "
        "(the lower ends of intervals are those for two questions, unless one kind clearly falls "
        "short). On the sample of the run, where attention maps are whole."
    ),
    null="attention's own pairs, pairs at the same distances, and the untrained model",
    breaks="the pairs are those of attention, or have no structure, or attention shows more",
    figure="summed",
    judge=_judge,
    on_sample=True,
)
