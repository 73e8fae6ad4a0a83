"""Claim: similarity shows structure that attention does not."""

from headscope.findings.claims.claim import NO_UNTRAINED, Claim, Finding, Status, no_answer
from headscope.findings.claims.evidence import Evidence
from headscope.findings.resampling.resampled_run import interval_of
from headscope.measures.block_contrast import BLOCK_CONTRAST
from headscope.measures.mask_agreement import MASK_AGREEMENT
from headscope.measures.measure import ratio
from headscope.measures.repetition import REPETITION

EXPLAINED = 0.5
"""The mask explains the pairs from this share on: (agreement - expected) / (1 - expected)."""


def _judge(evidence: Evidence) -> Finding:
    run = evidence.run
    if evidence.stack == "cross":
        return no_answer(
            "cross attention reads other tokens than those it writes for: no mask over C"
        )
    if not evidence.untrained:
        return NO_UNTRAINED
    expected = run.pooled_expected(MASK_AGREEMENT)
    explained = interval_of(ratio(run.pooled(MASK_AGREEMENT) - expected, 1 - expected))
    repetition = interval_of(
        run.excess(REPETITION) - evidence.null(lambda null: null.excess(REPETITION))
    )
    found = f"repetition is {repetition.value:+.1%}"
    structures = [repetition]
    # Not measured in a minimal run, nor where no window has two sentences.
    if run.total(BLOCK_CONTRAST.denominator):
        blocks = interval_of(
            run.pooled(BLOCK_CONTRAST) - evidence.null(lambda null: null.pooled(BLOCK_CONTRAST))
        )
        found += f" and sentence contrast {blocks.value:+.2f} standard deviations"
        structures.append(blocks)
    status: Status = "undecided"
    if explained.high < EXPLAINED and any(structure.low > 0 for structure in structures):
        status = "holds"
    elif explained.low > EXPLAINED or all(structure.high <= 0 for structure in structures):
        status = "fails"
    return Finding(
        status=status,
        effect=explained,
        unit="share of the pairs that the attention mask explains, beyond chance",
        null=None,
        p_value=None,
        summary=(
            f"the mask of high-attention tokens explains {explained} of the pairs beyond chance; "
            f"compared with the untrained model, {found}"
        ),
    )


BEYOND_ATTENTION = Claim(
    name="beyond-attention",
    title="similarity says more than attention",
    paper="The context similarity matrix reveals structure that the attention map does not.",
    definition=(
        "Two things: high-similarity pairs have structure (more repetition or sentence contrast "
        "than the untrained model), and the mask of high-attention tokens explains less than "
        f"{EXPLAINED:.0%} of the pairs beyond chance."
    ),
    null="untrained model for the structure; all pairs of the window for the mask",
    breaks="the pairs are those that the attention mask shows, or have no structure",
    figure="summed",
    judge=_judge,
)
