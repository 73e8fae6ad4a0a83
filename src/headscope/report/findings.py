"""The findings table: the few columns that tell a layer's story, for terminal and page alike."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, slots=True)
class Finding:
    """One column of the table."""

    column: str
    title: str
    form: str
    meaning: str


FINDINGS: tuple[Finding, ...] = (
    Finding("layer", "layer", "d", "layers are numbered from 1"),
    Finding("mean_distance", "mean distance", ".1f", "tokens between the two of a pair"),
    Finding("same_sentence", "same sentence", ".3f", "share of pairs inside one sentence"),
    Finding(
        "same_sentence_expected",
        "expected",
        ".3f",
        "that share among all pairs of the text at the same distances",
    ),
    Finding("repetition", "repeated token", ".3f", "share of pairs that are one token twice"),
    Finding(
        "repetition_expected",
        "expected",
        ".3f",
        "that share among all pairs of the text at the same distances",
    ),
    Finding("separator_attention", "attention on .!?", ".3f", "share of all attention"),
    Finding(
        "distinct_focal_tokens",
        "distinct focal tokens",
        ".1f",
        "how many different tokens the heads of a layer gather around in a text",
    ),
)


def findings_rows(layers: pd.DataFrame) -> list[list[str]]:
    """The table's cells as text, a list per layer; a dash where a number is absent."""
    return [
        [_cell(row[finding.column], finding.form) for finding in FINDINGS]
        for row in layers.to_dict("records")
    ]


def _cell(value: int | float, form: str) -> str:
    return "-" if pd.isna(value) else format(int(value) if form == "d" else value, form)
