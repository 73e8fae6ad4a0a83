"""All claims judged on a run."""

from collections.abc import Iterable, Sequence

import xarray as xr

from headscope.findings.claims import CLAIMS, Claim, Evidence, Verdict
from headscope.findings.claims.claim import MIN_TEXTS, no_answer
from headscope.findings.resampling.resampled_run import resample_run
from headscope.findings.resampling.window_table import WindowTable


def evidence_of(
    stack: str,
    table: WindowTable,
    nulls: Sequence[WindowTable],
    results: xr.Dataset,
    seed: int,
) -> Evidence:
    """The evidence of a stack: the run and its nulls, resampled."""
    return Evidence(
        stack=stack,
        run=resample_run(table, seed),
        untrained=tuple(resample_run(null, seed + 1 + number) for number, null in enumerate(nulls)),
        results=results,
    )


def judge(evidence: Evidence, claims: Iterable[Claim] = CLAIMS) -> list[Verdict]:
    """The verdict on each claim."""
    if evidence.run.texts < MIN_TEXTS:
        reason = f"{evidence.run.texts} texts are too few; analyse {MIN_TEXTS} at least"
        return [Verdict(claim, evidence.stack, no_answer(reason)) for claim in claims]
    return [Verdict(claim, evidence.stack, claim.judge(evidence)) for claim in claims]
