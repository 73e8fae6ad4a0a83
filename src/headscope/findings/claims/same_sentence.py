"""Claims: the final layers prefer pairs inside one sentence, and more so than the middle ones."""

from dataclasses import replace

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, Test, find_all, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.resampled_run import ResampledRun, Samples
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.same_sentence import SAME_SENTENCE

LEAST = 0.02
"""The smallest preference that counts: two pairs in a hundred."""
LEAST_STEP = 0.01
"""The smallest rise from the middle to the final layers that counts: one pair in a hundred."""


def _unanswerable(evidence: Evidence, *parts: str) -> Finding | None:
    # If all pairs of these windows lie in one sentence, or none do, so do a head's pairs.
    if not 0 < evidence.run.pooled_expected(SAME_SENTENCE)[0] < 1:
        return no_answer("no window has two sentences, or the corpus has no sentences")
    if not evidence.untrained:
        return NO_UNTRAINED
    missing = evidence.missing_parts(*parts)
    return no_answer(missing) if missing else None


def _judge_final(evidence: Evidence) -> Finding:
    if unanswerable := _unanswerable(evidence, "last"):
        return unanswerable
    final = evidence.part("last")
    trained = evidence.run.excess(SAME_SENTENCE, final)
    null = evidence.null(lambda run: run.excess(SAME_SENTENCE, final))
    effect = evidence.interval(trained - null)
    rate = evidence.run.pooled(SAME_SENTENCE, final)[0]
    p_value = evidence.permutation_p(final)
    finding = find_all(
        [
            Test(
                name="final third",
                effect=effect,
                bar=LEAST,
                unit="share of pairs beyond expectation and untrained model",
                null=evidence.interval(null),
            )
        ],
        summary=(
            f"{rate:.1%} of the pairs of {evidence.span(final)} lie in one sentence, "
            f"{trained[0]:+.1%} compared with all pairs at the same distances; "
            f"beyond the untrained model: {effect.percent}{evidence.some_layers()}"
        ),
    )
    if finding.status == "holds" and p_value is not None and not p_value < 0.05:
        return replace(finding, status="undecided", p_value=p_value)
    return replace(finding, p_value=p_value)


def _judge_end(evidence: Evidence) -> Finding:
    if unanswerable := _unanswerable(evidence, "middle", "last"):
        return unanswerable
    middle, final = evidence.part("middle"), evidence.part("last")

    def step(run: ResampledRun) -> Samples:
        rise: Samples = run.excess(SAME_SENTENCE, final) - run.excess(SAME_SENTENCE, middle)
        return rise

    def suppression(run: ResampledRun) -> Samples:
        rise: Samples = run.pooled(BLOCK_CONTRAST, final) - run.pooled(BLOCK_CONTRAST, middle)
        return rise

    null = evidence.null(step)
    effect = evidence.interval(step(evidence.run) - null)
    tests = [
        Test(
            name="pairs inside a sentence, final third against the middle",
            effect=effect,
            bar=LEAST_STEP,
            unit="share of pairs beyond expectation, final third minus middle third, beyond the "
            "untrained model",
            null=evidence.interval(null),
        )
    ]
    said = ""
    # Not measured in a minimal run.
    if evidence.run.total(BLOCK_CONTRAST.denominator):
        null_contrast = evidence.null(suppression)
        contrast = evidence.interval(suppression(evidence.run) - null_contrast)
        tests.append(
            Test(
                name="suppression across sentences, final third against the middle",
                effect=contrast,
                bar=0.0,
                unit="standard deviations of C, final third minus middle third, beyond the "
                "untrained model",
                null=evidence.interval(null_contrast),
            )
        )
        said = f"; block contrast changes by {contrast} standard deviations of C"
    at = [evidence.run.excess(SAME_SENTENCE, layers)[0] for layers in (middle, final)]
    return find_all(
        tests,
        summary=(
            f"compared with all pairs at the same distances, {at[0]:+.1%} of the pairs of "
            f"{evidence.span(middle)} and {at[1]:+.1%} of {evidence.span(final)} lie in one "
            f"sentence: a step of {effect.percent} beyond the untrained model{said}"
            f"{evidence.some_layers()}"
        ),
    )


SENTENCE_END = Claim(
    name="sentence-end",
    title="the last layers culminate in the sentence",
    paper=(
        "Long range, then short range, culminating within the sentence: final layers spread within "
        "the sentence, and are suppressed across sentences."
    ),
    definition=(
        "From the middle third to the final third of the layers, two things rise, each beyond the "
        "same step of the untrained model: the share of pairs inside one sentence, minus that of "
        f"all pairs at the same distances, by more than {LEAST_STEP:g}; and block contrast, how "
        "much less similar tokens of different sentences are at equal distance, by more than 0."
    ),
    null="the middle third, and the untrained model",
    breaks="the preference for the sentence peaks before the final layers",
    figure="same-sentence",
    judge=_judge_end,
)

SAME_SENTENCE_FINAL = Claim(
    name="same-sentence",
    title="final layers stay in the sentence",
    paper="Final layers prefer pairs inside one sentence.",
    definition=(
        "The share of pairs inside one sentence in the final third of the layers, minus that of "
        "all pairs of the same window at the same distances, minus that of the untrained model. "
        f"Holds above {LEAST:g}, if it also exceeds what permuted sentences give (p < 0.05)."
    ),
    null="distance-matched expectation, untrained model, permuted sentences",
    breaks="pairs cross sentence boundaries as often as their distances explain",
    figure="same-sentence",
    judge=_judge_final,
)
