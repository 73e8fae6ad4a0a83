"""Checkpoints of a training on standard output: numbers over steps, and where they change."""

import typer

from headscope.cli.compare_tables import Form, print_claims, print_remarks
from headscope.cli.tables import Column, print_table
from headscope.compare.comparison import Comparison
from headscope.compare.training import QUANTITIES_OF_TRAINING, TrainingQuantity
from headscope.findings.learning import CLEAR_SHARE


def print_training(comparison: Comparison, *, remarks: bool = True) -> None:
    """Print each quantity over steps, and a line for each with the steps of its fastest change."""
    for stack, values in comparison.training.groupby("stack", sort=False):
        several = comparison.training["stack"].nunique() > 1
        for quantity in QUANTITIES_OF_TRAINING:
            of_quantity = values[values["quantity"] == quantity.name]
            if not len(of_quantity):
                continue
            form = Form.of(quantity)
            parts = of_quantity["part"].unique()
            rows = []
            for step, at_step in of_quantity.groupby("step"):
                there = at_step.set_index("part")
                cells = (there.loc[part, ["value", "low", "high"]] for part in parts)
                rows.append([f"{step:g}", *(form.value(*cell.astype(float)) for cell in cells)])
            title = f"{quantity.title} ({form.unit})" + (f", {stack}" if several else "")
            columns = [Column("step", number=True)]
            columns += [Column(part, number=True, min_width=14) for part in parts]
            print_table(columns, rows, title=title)
    print_claims(comparison.claims)
    _print_fastest(comparison)
    trainings = int(comparison.training["trainings"].max())
    over = "documents" if trainings == 1 else f"documents and {trainings} seeds"
    typer.echo(f"±       half of the 95 % interval over {over}; --json has its limits")
    typer.echo(
        "agree   bootstrap samples in which the change per decade of steps is largest between "
        "the same steps"
    )
    typer.echo(
        f"clear   at least {CLEAR_SHARE:.0%} agree, and the change is not 0; among many "
        "quantities some may be so by chance"
    )
    if remarks:
        print_remarks(comparison)


def _print_fastest(comparison: Comparison) -> None:
    known = {quantity.name: quantity for quantity in QUANTITIES_OF_TRAINING}
    rows = []
    for change in comparison.fastest.to_dict("records"):
        quantity: TrainingQuantity = known[change["quantity"]]
        form = Form.of(quantity)
        line = [
            quantity.title,
            change["part"],
            f"{change['from_step']:g} to {change['to_step']:g}",
            form.difference(change["change"], change["low"], change["high"]),
            f"{change['share']:.0%}",
            "yes" if change["clear"] else "no clear step",
        ]
        rows.append(line if change["clear"] else [f"[dim]{cell}[/dim]" for cell in line])
    titles = ("steps", "change", "agree")
    print_table(
        [
            Column("changes fastest between"),
            Column("layers"),
            *(Column(title, number=True) for title in titles),
            Column("clear"),
        ],
        rows,
        title="where each changes fastest, per decade of steps",
    )
