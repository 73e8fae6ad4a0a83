"""`headscope sweep`: how every finding moves with the thresholds."""

import json
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from headscope.cli.options import Json, RunFolder
from headscope.cli.tables import Column, cell, print_table

if TYPE_CHECKING:
    import pandas as pd


def sweep_command(
    run: RunFolder,
    all_layers: Annotated[
        bool,
        typer.Option(
            "--all", help="Show all layers, not only the first, the middle and the last but one."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how every finding moves with the pair rule and the attention threshold.

    A table for each stack, and the figure `thresholds` in the run folder. All thresholds were
    measured in the run's own pass over the windows.
    """
    from headscope.findings.sweep import AXES
    from headscope.run import open_run

    opened = open_run(run)
    table = opened.sweep()
    if as_json:
        typer.echo(json.dumps(json.loads(table.to_json(orient="records"))))
        return
    settings = opened.manifest.settings
    own = {
        "pair_rule": str(settings.pairs),
        "attention_threshold": str(settings.attention_threshold),
    }
    for stack in opened.stacks:
        for axis in AXES:
            rows = table[(table["stack"] == stack) & (table["axis"] == axis)]
            title = f"{opened.manifest.model.name}, {stack}: by {axis.replace('_', ' ')}"
            _print_table(rows, title, own[axis], all_layers)
    for path in opened.figures(only=["thresholds"]).files:
        typer.echo(f"figure  {path}")


class _Shown(NamedTuple):
    column: str
    title: str
    form: str


def _shown_columns(rows: "pd.DataFrame") -> list[_Shown]:
    """The columns for people: measures that are in the sweep and depend on this threshold.

    A measure that adds up to something over the heads of a layer is shown as that.
    """
    from headscope.measures import MEASURES

    columns = []
    for measure in MEASURES:
        if not measure.in_sweep:
            continue
        if (total := measure.layer_total) is not None:
            columns.append(_Shown(total.name, total.title, total.form))
        else:
            columns.append(_Shown(measure.name, measure.title, measure.form))
            columns.append(_Shown(f"{measure.name}_expected", "expected", measure.form))
    return [shown for shown in columns if shown.column in rows and rows[shown.column].notna().any()]


def _print_table(rows: "pd.DataFrame", title: str, own: str, all_layers: bool) -> None:
    from headscope.findings.depth import three_depths

    shown = _shown_columns(rows)
    layers = rows["layer"].unique().tolist()
    lines: list[list[str] | None] = []
    for layer in layers if all_layers else three_depths(layers):
        for row in rows[rows["layer"] == layer].to_dict("records"):
            mark = "*" if row["threshold"] == own else ""
            cells = [cell(row[column], form) for column, _, form in shown]
            lines.append([str(layer), f"{row['threshold']}{mark}", *cells])
        lines.append(None)
    print_table(
        [
            Column("layer", number=True),
            Column("threshold"),
            *(Column(title, number=True) for _, title, _ in shown),
        ],
        lines,
        title=title,
        caption="* the threshold of the run itself" if own in rows["threshold"].array else None,
    )
