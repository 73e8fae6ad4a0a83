"""`headscope ablate`: what a model loses without each of its heads."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.analyze import CorpusOptions
from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import DEFAULTS, ModelOptions, layer_numbers
from headscope.cli.study_output import StudyOutput, range_cell, resumable, value_cell
from headscope.cli.tables import Column, cell, print_table
from headscope.settings import ABLATION_WINDOWS

if TYPE_CHECKING:
    from headscope.intervene.ablate import Ablation

SHOWN = 20
"""Heads in the table, unless all are asked for."""


@dataclass(frozen=True)
class SampleOptions(CorpusOptions):
    """What is read: a sample, since every head takes a pass."""

    texts: Annotated[
        int | None,
        typer.Option(
            "--texts", "-n", help="Number of windows, drawn at random over the whole corpus."
        ),
    ] = ABLATION_WINDOWS


@dataclass(frozen=True)
class AblationOptions(OptionGroup, panel="Measuring"):
    """What is switched off, and how."""

    layers: Annotated[
        str | None,
        typer.Option(help="Only heads of these layers, numbered from 1, such as 1,6,11."),
    ] = None
    approximate: Annotated[
        str | None,
        typer.Option(
            metavar="write|gradient",
            help="Rank heads from one pass: by how much they write, or by the gradient of the "
            "loss.",
        ),
    ] = None
    batch_tokens: Annotated[
        int, typer.Option(help="Number of tokens that go through the model at once.")
    ] = DEFAULTS.batch_tokens


@dataclass(frozen=True)
class AblationOutput(StudyOutput):
    """What is written, and what is printed."""

    every_head: Annotated[
        bool, typer.Option("--all", help=f"Show all heads, not only the {SHOWN} strongest.")
    ] = False


def ablate_command(
    corpus: SampleOptions,
    model: ModelOptions,
    ablation: AblationOptions,
    output: AblationOutput,
) -> None:
    """Show what a model loses without each of its heads.

    Every head is switched off in turn: how much the model's own loss rises, and how far its answers
    move; for encoders without a head of their own, how far their states move.
    """
    from headscope.intervene.ablate import ablate

    options: dict[str, Any] = {**corpus.keywords(), **model.keywords(), **ablation.keywords()}
    options |= {
        "corpus": corpus.corpus or ["demo"],
        "layers": layer_numbers(ablation.layers),
    }
    with resumable():
        result = ablate(**options, out=output.out, log=output.log, progress=not output.quiet)
    if output.as_json:
        typer.echo(json.dumps(result.to_json()))
        return
    _print_heads(result, None if output.every_head else SHOWN)
    if not output.quiet:
        typer.echo(f"study   {result.folder}")


_TITLES = {
    "loss_increase": "loss increase",
    "kl": "KL to intact",
    "pooled": "1 - cosine, pooled",
    "drift": "drift of states",
    "score": "score",
}


def _print_heads(result: "Ablation", most: int | None) -> None:
    names = list(result.reliability)
    ranked = sorted(result.heads, key=lambda head: -_sortable(head.effects[names[0]].value))
    titles = [column for name in names for column in (_TITLES[name], "95 % interval")]
    rows = []
    for head in ranked[:most]:
        cells = [
            text
            for name in names
            for text in (value_cell(head.effects[name]), range_cell(head.effects[name]))
        ]
        mark = "*" if head.matters else ""
        rows.append([head.stack, str(head.layer), f"{head.head}{mark}", *cells])
    matter = sum(head.matters for head in result.heads)
    above = (
        f"* above zero: {matter} of {len(result.heads)} heads, at a false discovery rate of 5 %."
    )
    if result.documents < 2:
        above = "No intervals: they resample documents, and there is only one."
    print_table(
        [
            Column("stack"),
            Column("layer", number=True),
            Column("head", number=True),
            *(Column(title, number=True) for title in titles),
        ],
        rows,
        title=f"{result.model}: {result.windows:,} windows of {result.corpus}, "
        f"{result.documents:,} documents",
        caption=f"{above} Unit: {result.unit}.",
    )
    if result.loss is not None:
        typer.echo(f"loss of the intact model  {value_cell(result.loss)} {result.unit}")
    of = ", ".join(
        f"{_TITLES[name]} {cell(value, '.2f')}" for name, value in result.reliability.items()
    )
    typer.echo(f"reliability of the ranking  {of}")


def _sortable(value: float) -> float:
    return value if value == value else float("-inf")
