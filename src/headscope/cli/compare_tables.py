"""Comparisons on standard output: a table for each quantity, at most 100 columns wide."""

from dataclasses import dataclass

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from headscope.compare.comparison import Comparison
from headscope.compare.quantities import QUANTITIES, Quantity
from headscope.findings.depth import PARTS

_NAME_WIDTH, _VALUE_WIDTH, _DIFFERENCE_WIDTH = 26, 10, 11
"""Characters of a table's columns: three values and three differences fit into 100."""

_STATUS_WIDTH = 9
_COLOURED = {"holds": "[green]holds[/]", "fails": "[red]fails[/]"}


@dataclass(frozen=True, slots=True)
class _Form:
    """How the numbers of a quantity are written: shares as per cent, which is shorter."""

    unit: str
    factor: float
    digits: int

    @classmethod
    def of(cls, quantity: Quantity) -> "_Form":
        if quantity.unit.startswith("share"):
            return cls(quantity.unit.replace("share", "%", 1), 100, 1)
        return cls(quantity.unit, 1, 1 if quantity.unit == "tokens" else 2)

    def value(self, value: float, low: float, high: float) -> str:
        return self._write(value, low, high, "")

    def difference(self, value: float, low: float, high: float) -> str:
        text = self._write(value, low, high, "+")
        return f"[dim]{text}[/dim]" if low <= 0 <= high else text

    def _write(self, value: float, low: float, high: float, sign: str) -> str:
        if pd.isna(value):
            return "" if sign else "-"
        text = f"{self.factor * value:{sign}.{self.digits}f}"
        half = self.factor * (high - low) / 2
        return text if pd.isna(half) else f"{text} ±{half:.{self.digits}f}"


def print_comparison(comparison: Comparison, *, remarks: bool = True) -> None:
    """A table for each quantity: a row per stack of a run, thirds of the layers from left to right.

    Differences whose interval holds zero are dim.
    """
    console = Console(highlight=False, soft_wrap=True)
    for quantity in QUANTITIES:
        rows = comparison.thirds[comparison.thirds["quantity"] == quantity.name]
        console.print(_table(quantity, rows))
    console.print(_claims_table(comparison.claims))
    thirds = comparison.thirds
    references = list(thirds.loc[thirds["seeds"] == 0, "reference"].dropna().unique())
    if (thirds["seeds"] > 0).any():
        references.append("its trained row if it is untrained")
    typer.echo("±     half of the 95 % interval, from drawing documents anew; the limits: --json")
    typer.echo(f"Δ     the row less {', or '.join(references)}")
    if remarks:
        for remark in comparison.remarks:
            typer.echo(f"note  {remark}")


def print_match(match: pd.DataFrame, first: str, other: str) -> None:
    """For every head of the first run the head of the other one that is most like it."""
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 2, 0, 0),
        pad_edge=False,
        title=escape(f"heads of {first} (left) and those of {other} most like them"),
        title_justify="left",
    )
    table.add_column("stack")
    for column in ("head", "best match", "CKA", "runner-up", "CKA", "other texts", "mutual"):
        table.add_column(column, justify="right")
    for row in match.to_dict("records"):
        table.add_row(
            row["stack"],
            f"{row['layer']}.{row['head']}",
            f"{row['other_layer']}.{row['other_head']}",
            f"{row['cka']:.2f}",
            f"{row['runner_up_layer']}.{row['runner_up_head']}",
            f"{row['runner_up_cka']:.2f}",
            f"{row['null']:.2f}",
            "yes" if row["mutual"] else "",
        )
    Console(highlight=False, soft_wrap=True).print(table)
    typer.echo("head         layer.head, from 1")
    typer.echo("other texts  the largest CKA of the head on texts that do not belong together")


def _table(quantity: Quantity, rows: pd.DataFrame) -> Table:
    form = _Form.of(quantity)
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title=f"{quantity.title} ({form.unit}), thirds of the layers",
        title_justify="left",
    )
    table.add_column("", min_width=min(_NAME_WIDTH, rows["name"].str.len().max()), no_wrap=True)
    for part in PARTS:
        table.add_column(part, justify="right", no_wrap=True, min_width=_VALUE_WIDTH)
        table.add_column("Δ", justify="right", no_wrap=True, min_width=_DIFFERENCE_WIDTH)
    for name, of_row in rows.groupby("name", sort=False):
        cells = []
        for third in of_row.set_index("third").loc[list(PARTS)].to_dict("records"):
            cells.append(form.value(third["value"], third["low"], third["high"]))
            cells.append(
                form.difference(
                    third["difference"], third["difference_low"], third["difference_high"]
                )
            )
        table.add_row(escape(_short(str(name))), *cells)
    return table


def _claims_table(claims: pd.DataFrame) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title="claims of the paper, each against its null; - no answer (see headscope claims)",
        title_justify="left",
    )
    table.add_column("", no_wrap=True)
    for claim in claims["claim"].unique():
        table.add_column(claim.replace("-", "\n"), min_width=_STATUS_WIDTH)
    for name, verdicts in claims.groupby("name", sort=False):
        shown = verdicts["status"].replace("cannot answer", "-")
        table.add_row(escape(_short(str(name))), *(_COLOURED.get(s, s) for s in shown))
    return table


def _short(name: str) -> str:
    """A name that fits; its end says most (the stack, untrained)."""
    return name if len(name) <= _NAME_WIDTH else f"…{name[1 - _NAME_WIDTH :]}"
