"""The table of findings: a row per layer, a few columns, for the terminal and the report alike."""

import math
from dataclasses import dataclass

import pandas as pd

from headscope.measures import MEASURES


@dataclass(frozen=True, slots=True)
class FindingColumn:
    """One column of the table."""

    column: str
    """The column of `run.layers` that it shows."""
    title: str
    form: str
    """How its numbers are written, as in `format(value, form)`."""
    meaning: str


def finding_columns() -> list[FindingColumn]:
    """The columns: those that measures ask for by `in_findings` and `layer_total`."""
    columns = [FindingColumn("layer", "layer", "d", "layers are numbered from 1")]
    for measure in MEASURES:
        if measure.in_findings is not None:
            columns.append(
                FindingColumn(measure.name, measure.title, measure.form, measure.in_findings)
            )
            if measure.expected is not None and measure.expected_in_findings:
                meaning = f"{measure.title}: {_EXPECTED}"
                columns.append(
                    FindingColumn(f"{measure.name}_expected", "expected", measure.form, meaning)
                )
        if (total := measure.layer_total) is not None:
            columns.append(FindingColumn(total.name, total.title, total.form, total.meaning))
    return columns


_EXPECTED = "the same among all pairs of the window, at the same distances where those matter"


def finding_rows(layers: pd.DataFrame) -> list[list[str]]:
    """The cells of the table as text, a list per layer."""
    columns = finding_columns()
    return [
        # A run of an older version has fewer measures.
        [format_cell(row.get(column.column, math.nan), column.form) for column in columns]
        for row in layers.to_dict("records")
    ]


def format_cell(value: int | float, form: str) -> str:
    """A number of a table as text; a dash where it is absent."""
    return "-" if pd.isna(value) else format(int(value) if form == "d" else value, form)
