"""The paper's claims, each judged against its null: one claim, one file. No torch in here.

To add one, write a file with a `Claim` and put it into `CLAIMS` below.
"""

from headscope.findings.claims.claim import Claim, Verdict
from headscope.findings.claims.common_token import COMMON_TOKEN
from headscope.findings.claims.evidence import Evidence
from headscope.findings.claims.focal_tokens import FOCAL_TOKENS
from headscope.findings.claims.range_progression import RANGE
from headscope.findings.claims.repetition import REPETITION_HEADS
from headscope.findings.claims.same_sentence import SAME_SENTENCE_FINAL
from headscope.findings.claims.separators import SEPARATORS
from headscope.findings.claims.similarity_beyond_attention import BEYOND_ATTENTION
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

__all__ = ["CLAIMS", "Claim", "Evidence", "Verdict"]
