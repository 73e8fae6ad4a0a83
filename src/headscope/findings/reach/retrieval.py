"""Heads that look back: what they write for a phrase depends on whether it came before.

A phrase of random foreign tokens is planted twice. With another phrase in place of its first
occurrence, a head that looks up earlier occurrences writes something else at the second; one that
does not, writes the same. The tokens just before the second occurrence, which repeat nothing, tell
what any change at that distance does.

That a head writes something else may be the work of heads before it, whose findings it reads. A
retrieval-like head also attends to the first occurrence, or to what came after it, itself.
"""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from headscope.findings.reach.evidence import ReachEvidence
from headscope.findings.reach.extent import LEAST_PAIRS
from headscope.findings.reach.use import FAR
from headscope.findings.resampling.false_discovery import false_discovery
from headscope.findings.resampling.swap_bands import Bands, swap_bands

BAR = 0.1
"""A head looks back if more than this share of what it writes depends on the first occurrence; it
attends to that if more than this share of its attention does."""
MEANINGS = {
    "retrieval": "attends to an earlier occurrence from far away, and what it writes depends on it",
    "follows": "what it writes depends on a far earlier occurrence that other heads attend to",
}
"""The roles that heads have in long texts."""


def retrieval_table(evidence: ReachEvidence) -> pd.DataFrame | None:
    """A row per head and distance: how much of what it writes for a phrase the earlier one decides.

    `answer` is the share of change at the second occurrence minus that just before it, `attention`
    the share of attention that the second occurrence pays to the first, or to what follows it,
    minus that with another phrase there; both with bands over all distances. `looks_back` and
    `attends` say whether these bands lie above the bar at this distance, the false discovery rate
    over heads being controlled.

    Args:
        evidence: Of all pairs of documents.
    """
    answers = _answers(evidence)
    if answers is None:
        return None
    judged = {
        ("answer", "looks_back"): swap_bands(answers),
        ("attention", "attends"): swap_bands(_attention(evidence)),
    }
    real = {
        names: false_discovery(bands.p_values) & (evidence.units >= LEAST_PAIRS)
        for names, bands in judged.items()
    }
    rows = []
    for at, (stack, layer, head) in enumerate(evidence.heads):
        for number, distance in enumerate(evidence.repeat_distances):
            row: dict[str, Any] = {
                "stack": stack,
                "layer": layer,
                "head": head,
                "distance": distance,
            }
            for (value, verdict), bands in judged.items():
                row |= _cells(value, bands, at, number)
                row[verdict] = bool(real[value, verdict][at] and bands.low[at, number] > BAR)
            if np.isfinite(row["answer"]):
                rows.append(row)
    return pd.DataFrame(rows)


def retrieval_heads(table: pd.DataFrame | None) -> dict[tuple[str, int, int], int]:
    """The heads that look back far, and the largest distance at which they do.

    Args:
        table: What `retrieval_table` gives.
    """
    if table is None or table.empty:
        return {}
    found = table[table["looks_back"] & (table["distance"] >= FAR)]
    largest: dict[tuple[str, int, int], int] = {}
    for stack, layer, head, distance in zip(
        found["stack"], found["layer"], found["head"], found["distance"], strict=True
    ):
        key = (stack, int(layer), int(head))
        largest[key] = max(int(distance), largest.get(key, 0))
    return largest


def long_text_roles(table: pd.DataFrame | None) -> pd.DataFrame:
    """The heads that have a role in long texts: stack, layer, head, role, strength, evidence.

    The role is that at the largest distance at which the head is a retrieval head, or else at which
    it follows one. `strength` is the smaller of the lower ends of both bands, at most 1.

    Args:
        table: What `retrieval_table` gives.
    """
    columns = ["stack", "layer", "head", "role", "strength", "evidence"]
    if table is None or table.empty:
        return pd.DataFrame(columns=columns)
    far = table[table["looks_back"] & (table["distance"] >= FAR)]
    records = []
    for (stack, layer, head), rows in far.groupby(["stack", "layer", "head"], sort=False):
        looked_up = rows[rows["attends"]]
        row = (rows if looked_up.empty else looked_up).iloc[-1]
        strength = min(row["answer_low"], row["attention_low"], 1.0)
        evidence = (
            f"a phrase {row['distance']} tokens back decides {_words(row, 'answer')} of what it "
            f"writes, and gets {_words(row, 'attention')} of its attention"
        )
        role = "follows" if looked_up.empty else "retrieval"
        records.append((stack, layer, head, role, strength, evidence))
    return pd.DataFrame(records, columns=columns)


def _words(row: "pd.Series[float]", name: str) -> str:
    return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"


def _cells(name: str, bands: Bands, curve: int, number: int) -> dict[str, float]:
    return {
        name: bands.mean[curve, number],
        f"{name}_low": bands.low[curve, number],
        f"{name}_high": bands.high[curve, number],
    }


def _answers(evidence: ReachEvidence) -> Float64[np.ndarray, "unit row distance"] | None:
    again, before = evidence.changes("repeats_again"), evidence.changes("repeats_before")
    if again is None or before is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = [change / size for change, size in (again, before)]
    return np.asarray(shares[0] - shares[1])


def _attention(evidence: ReachEvidence) -> Float64[np.ndarray, "unit row distance"]:
    arrays = evidence.arrays
    received = arrays["repeats_attention/first"] - arrays["repeats_attention/control"]
    tokens = arrays["repeats_again/tokens"][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(received / tokens)
