"""`headscope sweep`: how every finding moves with the thresholds."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.options import Json

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "pair_rule": {
        "mean_distance": ("mean distance", ".1f"),
        "same_sentence": ("same sentence", ".3f"),
        "same_sentence_expected": ("expected", ".3f"),
        "repetition": ("repeated token", ".3f"),
        "repetition_expected": ("expected", ".3f"),
        "distinct_focal_tokens": ("distinct focal tokens", ".1f"),
    },
    "attention_threshold": {
        "high_attention_tokens": ("high-attention tokens", ".1f"),
        "mask_agreement": ("pairs with one", ".3f"),
        "mask_agreement_expected": ("expected", ".3f"),
    },
}
"""The columns of the tables, by axis: title and form."""


def sweep_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    all_layers: Annotated[
        bool, typer.Option("--all", help="All layers, not only first, middle and last but one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show how every finding moves with the pair rule and the attention threshold.

    A table for each stack, and the figure `thresholds` in the run folder. All thresholds were
    measured in the run's own pass over the texts.
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


def _print_table(rows: "pd.DataFrame", title: str, own: str, all_layers: bool) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from headscope.findings.depth import three_depths

    columns = _COLUMNS[rows["axis"].iloc[0]]
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=escape(title),
        title_justify="left",
        caption="* the threshold of the run itself" if own in rows["threshold"].array else None,
        caption_justify="left",
    )
    table.add_column("layer", justify="right")
    table.add_column("threshold", no_wrap=True)
    for heading, _ in columns.values():
        table.add_column(heading, justify="right")
    layers = rows["layer"].unique().tolist()
    for layer in layers if all_layers else three_depths(layers):
        for row in rows[rows["layer"] == layer].to_dict("records"):
            mark = "*" if row["threshold"] == own else ""
            cells = [_cell(row[column], form) for column, (_, form) in columns.items()]
            table.add_row(str(layer), f"{row['threshold']}{mark}", *cells)
        table.add_section()
    Console(highlight=False).print(table)


def _cell(value: Any, form: str) -> str:
    return "-" if value != value else format(value, form)
