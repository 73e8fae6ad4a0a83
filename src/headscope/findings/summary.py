"""The table of findings: the few columns that tell a layer's story, for terminal and page alike."""

from dataclasses import dataclass

import pandas as pd

from headscope.measures import MEASURES


@dataclass(frozen=True, slots=True)
class FindingColumn:
    """One column of the table."""

    column: str
    """Of the table of layers."""
    title: str
    form: str
    meaning: str


def finding_columns() -> list[FindingColumn]:
    """The columns, by what measures say of themselves."""
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
    """The table's cells as text, a list per layer; a dash where a number is absent."""
    columns = finding_columns()
    return [
        [_cell(row[column.column], column.form) for column in columns]
        for row in layers.to_dict("records")
    ]


def _cell(value: int | float, form: str) -> str:
    return "-" if pd.isna(value) else format(int(value) if form == "d" else value, form)
