"""The paper's claims, each judged against its null: one claim, one file. No torch in here."""

from headscope.claims.claim import Claim, Verdict
from headscope.claims.common_token import COMMON_TOKEN
from headscope.claims.evidence import Evidence
from headscope.claims.focal_tokens import FOCAL_TOKENS
from headscope.claims.range_progression import RANGE
from headscope.claims.repetition import REPETITION_HEADS
from headscope.claims.same_sentence import SAME_SENTENCE_FINAL
from headscope.claims.separators import SEPARATORS
from headscope.claims.similarity_beyond_attention import BEYOND_ATTENTION

CLAIMS: tuple[Claim, ...] = (
    SEPARATORS,
    BEYOND_ATTENTION,
    REPETITION_HEADS,
    COMMON_TOKEN,
    RANGE,
    SAME_SENTENCE_FINAL,
    FOCAL_TOKENS,
)

__all__ = ["CLAIMS", "Claim", "Evidence", "Verdict"]
