"""The paper's claims, each judged against its null: one claim, one file. No torch in here.

To add one, write a file with a `Claim` and put it into `CLAIMS` below.
"""

from collections.abc import Iterable

from headscope.findings.claims.beyond_attention import BEYOND_ATTENTION
from headscope.findings.claims.claim import MIN_DOCUMENTS, Claim, Finding, no_answer
from headscope.findings.claims.common_token_heads import COMMON_TOKEN_HEADS
from headscope.findings.claims.distance_range import RANGE
from headscope.findings.claims.evidence import Evidence
from headscope.findings.claims.focal_tokens import FOCAL_TOKENS
from headscope.findings.claims.gather import StackEvidence
from headscope.findings.claims.repetition_heads import REPETITION_HEADS
from headscope.findings.claims.same_sentence import SAME_SENTENCE_FINAL, SENTENCE_END
from headscope.findings.claims.separators import SEPARATORS, SPECIAL_SEPARATORS
from headscope.findings.claims.verdict import ChoiceVerdict, Robustness, Verdict
from headscope.system.registry import Registry

CLAIMS: Registry[Claim] = Registry(
    "claim",
    [
        SEPARATORS,
        SPECIAL_SEPARATORS,
        BEYOND_ATTENTION,
        REPETITION_HEADS,
        COMMON_TOKEN_HEADS,
        RANGE,
        SENTENCE_END,
        SAME_SENTENCE_FINAL,
        FOCAL_TOKENS,
    ],
)
"""In the order of the paper."""


def judge(evidence: StackEvidence, claims: Iterable[Claim] = CLAIMS) -> list[Verdict]:
    """The verdict on each claim, by the run's own choice and under every other.

    Args:
        evidence: One stack of a run.
        claims: Which claims are judged.
    """
    asked = list(claims)
    own = {claim.name: find(claim, evidence.judged) for claim in asked}
    under: dict[str, list[ChoiceVerdict]] = {claim.name: [] for claim in asked}
    # Choice by choice, so that the sums of only one are held at a time.
    for axis in dict.fromkeys(claim.varies_with for claim in asked):
        answered = [
            claim
            for claim in asked
            if claim.varies_with == axis and own[claim.name].status != "cannot answer"
        ]
        for choice in evidence.choices(axis) if answered else ():
            seen = evidence.under(choice)
            for claim in answered:
                found = find(claim, seen)
                under[claim.name].append(ChoiceVerdict(choice, found.status, found.effect))
    return [
        Verdict(
            claim,
            evidence.stack,
            own[claim.name],
            documents_for(claim, evidence.judged),
            Robustness(tuple(under[claim.name])) if under[claim.name] else None,
        )
        for claim in asked
    ]


def find(claim: Claim, evidence: Evidence) -> Finding:
    """What a claim's test finds, if there are documents enough.

    Args:
        claim: The claim.
        evidence: One stack under one choice.
    """
    documents = documents_for(claim, evidence)
    if documents < MIN_DOCUMENTS:
        return no_answer(_too_few(documents, of_sample=documents < evidence.documents))
    return claim.judge(evidence)


def _too_few(documents: int, of_sample: bool) -> str:
    """Why there is no answer, and what to do.

    Args:
        documents: Number of documents that there are.
        of_sample: Whether the run has more, and its sample is what is small.
    """
    few = "1 document is" if documents == 1 else f"{documents} documents are"
    counted = "copies of a text counted once"
    if of_sample:
        return (
            f"{few} too few in the sample, {counted}: this claim needs {MIN_DOCUMENTS} there; "
            "analyse with --robustness 200"
        )
    return f"{few} too few, {counted}; analyse at least {MIN_DOCUMENTS}"


def documents_for(claim: Claim, evidence: Evidence) -> int:
    """Number of documents that a claim is judged on.

    Args:
        claim: The claim.
        evidence: One stack under one choice.
    """
    if claim.on_sample and evidence.sample is not None:
        return evidence.sample.documents
    return evidence.documents


__all__ = [
    "CLAIMS",
    "Claim",
    "Evidence",
    "Finding",
    "StackEvidence",
    "Verdict",
    "find",
    "judge",
]
