"""Comparisons on standard output: a table for each quantity, at most 100 columns wide."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import typer
from rich.markup import escape

from headscope.cli.claims import COLOURS
from headscope.cli.tables import Column, print_table
from headscope.compare.comparison import Comparison
from headscope.compare.quantities import QUANTITIES, Quantity
from headscope.compare.training import TrainingQuantity
from headscope.findings.depth import PARTS
from headscope.measures.signal import SIGNAL_MEASURES
from headscope.system.terminal import visible

_NAME_WIDTH, _VALUE_WIDTH, _DIFFERENCE_WIDTH = 26, 10, 11
"""Widths in characters: a name, three values and three differences fit into 100."""

_STATUS_WIDTH = 13
_DIGITS = {"tokens": 1, "number of heads": 1, "ratio of variances": 3}
"""How many stand after the point, by unit, where it is not two."""
_CLAIMS_ABREAST = 5
"""Claims in one table: more do not fit into 100 characters."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the numbers of a quantity are written: shares in percent, which is shorter."""

    unit: str
    factor: float
    digits: int

    @classmethod
    def of(cls, quantity: Quantity | TrainingQuantity) -> "Form":
        """How those of a quantity are written."""
        if quantity.unit.startswith("share"):
            return cls(quantity.unit.replace("share", "%", 1), 100, 1)
        return cls(quantity.unit, 1, _DIGITS.get(quantity.unit, 2))

    def value(self, value: float, low: float, high: float) -> str:
        """A number with half of its interval."""
        return self._write(value, low, high, "")

    def difference(self, value: float, low: float, high: float) -> str:
        """The same with a sign, dim where the interval contains zero."""
        text = self._write(value, low, high, "+")
        return f"[dim]{text}[/dim]" if low <= 0 <= high else text

    def _write(self, value: float, low: float, high: float, sign: str) -> str:
        if pd.isna(value):
            return "" if sign else "-"
        text = f"{self.factor * value:{sign}.{self.digits}f}"
        half = self.factor * (high - low) / 2
        return text if pd.isna(half) else f"{text} ±{half:.{self.digits}f}"


def print_comparison(comparison: Comparison, *, remarks: bool = True) -> None:
    """Print a table for each quantity: a row per stack of a run, thirds of the layers in columns.

    Differences whose interval contains zero are dim.
    """
    for quantity in QUANTITIES:
        rows = comparison.thirds[comparison.thirds["quantity"] == quantity.name]
        _print_quantity(quantity, rows)
    _print_signal(comparison.signal)
    print_claims(comparison.claims)
    thirds = comparison.thirds
    references = list(thirds.loc[thirds["seeds"] == 0, "reference"].dropna().unique())
    if (thirds["seeds"] > 0).any():
        references.append("its trained row if it is untrained")
    typer.echo("±     half of the 95 % interval, from resampling documents; --json has its limits")
    typer.echo(f"Δ     the row minus {visible(', or '.join(references))}")
    if remarks:
        print_remarks(comparison)


def print_remarks(comparison: Comparison) -> None:
    """Print what limits the comparison."""
    for remark in comparison.remarks:
        typer.echo(f"note  {visible(remark)}")


def print_match(match: pd.DataFrame, first: str, other: str) -> None:
    """Print, for every head of the first run, the head of the other one that is most like it."""
    titles = ("head", "best match", "CKA", "runner-up", "CKA", "other windows", "mutual")
    print_table(
        [Column("stack"), *(Column(title, number=True) for title in titles)],
        [
            (
                row["stack"],
                f"{row['layer']}.{row['head']}",
                f"{row['other_layer']}.{row['other_head']}",
                f"{row['cka']:.2f}",
                f"{row['runner_up_layer']}.{row['runner_up_head']}",
                f"{row['runner_up_cka']:.2f}",
                f"{row['null']:.2f}",
                "yes" if row["mutual"] else "",
            )
            for row in match.to_dict("records")
        ],
        title=f"heads of {first} (left) and those of {other} most like them",
    )
    typer.echo("head           layer.head, from 1")
    typer.echo("other windows  the largest CKA of the head on windows that do not belong together")


def _print_signal(signal: pd.DataFrame) -> None:
    """A table for all measures of the sample that any of the runs has; none without any."""
    shown = [m for m in SIGNAL_MEASURES if signal.loc[signal["measure"] == m.name, "value"].any()]
    if not shown:
        return
    lines = []
    for name, of_row in signal.groupby("name", sort=False):
        values = of_row.set_index(["measure", "third"])["value"]
        for measure in shown:
            numbers = [values[measure.name, part] for part in PARTS]
            written = ["-" if pd.isna(n) else format(n, measure.form) for n in numbers]
            lines.append((escape(_short(str(name))), measure.title, *written))
    print_table(
        [Column(""), Column("measure"), *(Column(part, number=True) for part in PARTS)],
        lines,
        title="signal, noise and writes: means over heads, on the sample of each run",
    )


def _print_quantity(quantity: Quantity, rows: pd.DataFrame) -> None:
    form = Form.of(quantity)
    columns = [Column("", min_width=min(_NAME_WIDTH, rows["name"].str.len().max()))]
    for part in PARTS:
        columns.append(Column(part, number=True, min_width=_VALUE_WIDTH))
        columns.append(Column("Δ", number=True, min_width=_DIFFERENCE_WIDTH))
    lines = []
    for name, of_row in rows.groupby("name", sort=False):
        line = [escape(_short(str(name)))]
        for third in of_row.set_index("third").loc[list(PARTS)].to_dict("records"):
            line.append(form.value(third["value"], third["low"], third["high"]))
            line.append(
                form.difference(
                    third["difference"], third["difference_low"], third["difference_high"]
                )
            )
        lines.append(line)
    title = f"{quantity.title} ({form.unit}), thirds of the layers"
    print_table(columns, lines, title=title, gap=0)


def print_claims(claims: pd.DataFrame) -> None:
    """Print the verdicts: a row per run, a column per claim."""
    names = claims["claim"].unique()
    title = "claims of the paper, each against its null; - no answer (see headscope claims)"
    counts = (
        "24/30: analysis choices that agree with the verdict; if it depends, that it holds under"
    )
    for start in range(0, len(names), _CLAIMS_ABREAST):
        abreast = names[start : start + _CLAIMS_ABREAST]
        titles = [name.replace("-", "\n") for name in abreast]
        shown = claims[claims["claim"].isin(abreast)]
        print_table(
            [Column(""), *(Column(title, wrap=True, min_width=_STATUS_WIDTH) for title in titles)],
            [
                (escape(_short(str(name))), *map(_status, verdicts.to_dict("records")))
                for name, verdicts in shown.groupby("name", sort=False)
            ],
            title=title if start == 0 else None,
            caption=counts if start + _CLAIMS_ABREAST >= len(names) else None,
            gap=0,
        )


def _status(verdict: dict[Hashable, Any]) -> str:
    """A verdict with the choices that agree: `holds 24/30`."""
    status = str(verdict["status"])
    if status == "cannot answer":
        return "-"
    agreeing = {"fails": "choices_fail"}.get(status, "choices_hold")
    counted = verdict["choices"] and status != "undecided"
    count = f" {verdict[agreeing]}/{verdict['choices']}" if counted else ""
    return f"[{COLOURS[status]}]{status}[/]{count}"


def _short(name: str) -> str:
    """A name that fits; its end says most (the stack, untrained)."""
    return name if len(name) <= _NAME_WIDTH else f"…{name[1 - _NAME_WIDTH :]}"
