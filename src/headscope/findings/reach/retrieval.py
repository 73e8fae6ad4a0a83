"""Heads that look back: what they write for a phrase depends on whether it came before.

A phrase of random foreign tokens is planted twice. With another phrase in place of its first
occurrence, a head that looks up earlier occurrences writes something else at the second; one that
does not, writes the same. The tokens just before the second occurrence, which repeat nothing, tell
what any change at that distance does.
"""

import numpy as np
import pandas as pd
from jaxtyping import Float64

from headscope.findings.reach.evidence import ReachEvidence
from headscope.findings.reach.extent import LEAST_PAIRS
from headscope.findings.reach.use import FAR
from headscope.findings.resampling.false_discovery import false_discovery
from headscope.findings.resampling.swap_bands import swap_bands

BAR = 0.1
"""A head looks back if more than this share of what it writes depends on the first occurrence."""


def retrieval_table(evidence: ReachEvidence) -> pd.DataFrame | None:
    """A row per head and distance: how much of what it writes for a phrase the earlier one decides.

    `answer` is the share of change at the second occurrence minus that just before it, with a band
    over all distances; `looks_back` says whether its band lies above the bar at this distance, the
    false discovery rate over heads being controlled.

    Args:
        evidence: Of all pairs of documents.
    """
    answers = _answers(evidence)
    if answers is None:
        return None
    bands = swap_bands(answers)
    real = false_discovery(bands.p_values) & (evidence.units >= LEAST_PAIRS)
    rows = []
    for at, (stack, layer, head) in enumerate(evidence.heads):
        for number, distance in enumerate(evidence.repeat_distances):
            if not np.isfinite(bands.mean[at, number]):
                continue
            rows.append(
                {
                    "stack": stack,
                    "layer": layer,
                    "head": head,
                    "distance": distance,
                    "answer": bands.mean[at, number],
                    "answer_low": bands.low[at, number],
                    "answer_high": bands.high[at, number],
                    "looks_back": bool(real[at] and bands.low[at, number] > BAR),
                }
            )
    return pd.DataFrame(rows)


def retrieval_heads(evidence: ReachEvidence) -> dict[tuple[str, int, int], int]:
    """The heads that look back far, and the largest distance at which they do.

    Args:
        evidence: Of all pairs of documents.
    """
    table = retrieval_table(evidence)
    if table is None or table.empty:
        return {}
    found = table[table.looks_back & (table.distance >= FAR)]
    largest: dict[tuple[str, int, int], int] = {}
    for stack, layer, head, distance in zip(
        found["stack"], found["layer"], found["head"], found["distance"], strict=True
    ):
        key = (stack, int(layer), int(head))
        largest[key] = max(int(distance), largest.get(key, 0))
    return largest


def _answers(evidence: ReachEvidence) -> Float64[np.ndarray, "unit row distance"] | None:
    again, before = evidence.changes("repeats_again"), evidence.changes("repeats_before")
    if again is None or before is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [change / size for change, size in (again, before)]
    return np.asarray(shares[0] - shares[1])
