"""The paper's claims, each judged against its null: one claim, one file. No torch in here.

To add one, write a file with a `Claim` and put it into `CLAIMS` below.
"""

from collections.abc import Iterable

from headscope.findings.claims.beyond_attention import BEYOND_ATTENTION
from headscope.findings.claims.claim import MIN_WINDOWS, Claim, Verdict, no_answer
from headscope.findings.claims.common_token_heads import COMMON_TOKEN
from headscope.findings.claims.distance_range import RANGE
from headscope.findings.claims.evidence import Evidence
from headscope.findings.claims.focal_tokens import FOCAL_TOKENS
from headscope.findings.claims.repetition_heads import REPETITION_HEADS
from headscope.findings.claims.same_sentence import SAME_SENTENCE_FINAL
from headscope.findings.claims.separators import SEPARATORS
from headscope.system.registry import Registry

CLAIMS: Registry[Claim] = Registry(
    "claim",
    [
        SEPARATORS,
        BEYOND_ATTENTION,
        REPETITION_HEADS,
        COMMON_TOKEN,
        RANGE,
        SAME_SENTENCE_FINAL,
        FOCAL_TOKENS,
    ],
)
"""In the order of the paper."""


def judge(evidence: Evidence, claims: Iterable[Claim] = CLAIMS) -> list[Verdict]:
    """The verdict on each claim."""
    windows = evidence.run.windows
    if windows < MIN_WINDOWS:
        finding = no_answer(f"{windows} windows are too few; analyse at least {MIN_WINDOWS}")
        return [Verdict(claim, evidence.stack, finding) for claim in claims]
    return [Verdict(claim, evidence.stack, claim.judge(evidence)) for claim in claims]


__all__ = ["CLAIMS", "Claim", "Evidence", "Verdict", "judge"]
