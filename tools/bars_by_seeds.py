"""Prints what each claim is compared with, with few untrained models and with many.

headscope analyze --model demo --corpus ewt.conllu --texts 300 --nulls 10 --null-seeds 30 -o RUN
python -m tools.bars_by_seeds RUN
"""

import sys
from dataclasses import replace

import headscope as hs
from headscope.findings.claims import CLAIMS, Evidence, find
from headscope.findings.claims.claim import Finding
from headscope.findings.claims.common_token_heads import COMMON_TOKEN
from headscope.findings.claims.evidence import relative_excess
from headscope.measures.measure import Measure
from headscope.measures.repetition import REPETITION

SEEDS = (3, 10, 30)
OF_HEADS = {"repetition-heads": REPETITION, "common-token-heads": COMMON_TOKEN}


def with_seeds(evidence: Evidence, seeds: int) -> Evidence:
    """The evidence of a run as if it had fewer untrained models.

    Args:
        evidence: Of a stack, with its sample.
        seeds: Number of untrained models that are kept.
    """
    fewer = replace(evidence, untrained=evidence.untrained[:seeds])
    sample = evidence.sample
    if sample is None or sample is evidence:
        return fewer
    return fewer.with_sample(with_seeds(sample, seeds))


def largest_of_all(evidence: Evidence, measure: Measure) -> float:
    """The strongest head of all untrained models together, which is no good bar.

    Args:
        evidence: Of a stack.
        measure: What heads are strong in.
    """
    return max(float(relative_excess(run, measure)[0].max()) for run in evidence.untrained)


def cell(finding: Finding) -> str:
    """What the claim was compared with, and the verdict."""
    return f"{finding.null}, {finding.status}"


def main(folder: str) -> None:
    (of_stack, *_) = hs.open_run(folder).evidence().values()
    evidences = [with_seeds(of_stack.judged, seeds) for seeds in SEEDS]
    print("| claim | " + " | ".join(f"{seeds} seeds" for seeds in SEEDS) + " |")
    print("| --- " * (len(SEEDS) + 1) + "|")
    for claim in CLAIMS:
        cells = [cell(find(claim, evidence)) for evidence in evidences]
        print(f"| `{claim.name}` | " + " | ".join(cells) + " |")
    for name, measure in OF_HEADS.items():
        largest = [f"{largest_of_all(evidence, measure):.3g}" for evidence in evidences]
        print(
            f"| `{name}`, if the largest head of all seeds were the bar | "
            + " | ".join(largest)
            + " |"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
