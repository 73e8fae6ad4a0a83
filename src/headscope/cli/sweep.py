"""`headscope sweep`: how every finding moves with the thresholds."""

import json
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from headscope.cli.options import Json, RunFolder
from headscope.cli.tables import Column, cell, print_table

if TYPE_CHECKING:
    import pandas as pd

    from headscope.findings.sweep import Axis


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
            of_stack = table[table["stack"] == stack]
            title = f"{opened.manifest.model.name}, {stack}: by {axis.replace('_', ' ')}"
            _print_table(of_stack, axis, title, own[axis], all_layers)
    for path in opened.figures(only=["thresholds"]).files:
        typer.echo(f"figure  {path}")


class _Shown(NamedTuple):
    column: str
    title: str
    form: str


def _shown_columns(table: "pd.DataFrame", axis: "Axis") -> list[_Shown]:
    """The columns for people: measures that are in the sweep and depend on this threshold.

    A measure that depends on both thresholds is shown on the last axis alone: tables stay narrow,
    and --json has all of it. One that has a total over the heads of a layer is shown as that.
    """
    from headscope.findings.sweep import AXES
    from headscope.measures import MEASURES

    columns = []
    for measure in MEASURES:
        if not measure.in_sweep:
            continue
        if (total := measure.layer_total) is not None:
            columns.append(_Shown(total.name, total.title, total.form))
        else:
            columns.append(_Shown(measure.name, measure.title, measure.form))
            if measure.expected_in_findings:
                columns.append(_Shown(f"{measure.name}_expected", "expected", measure.form))

    def last_axis(column: str) -> str | None:
        axes = set(table.loc[table[column].notna(), "axis"]) if column in table else set()
        return max(axes, key=AXES.index, default=None)

    return [shown for shown in columns if last_axis(shown.column) == axis]


def _print_table(
    table: "pd.DataFrame", axis: "Axis", title: str, own: str, all_layers: bool
) -> None:
    from headscope.findings.depth import three_depths

    shown = _shown_columns(table, axis)
    rows = table[table["axis"] == axis]
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
