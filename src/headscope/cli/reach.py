"""`headscope reach`: how far similarity, and the use of context, extend in long texts."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.analyze import CORPUS_HELP
from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import OUTPUT_PANEL, Json, ModelOptions, Quiet, layer_numbers
from headscope.cli.tables import Column, cell, print_table
from headscope.reach.plan import ReachPlan

if TYPE_CHECKING:
    from headscope.reach.reach import Reach


DEFAULTS = ReachPlan()


@dataclass(frozen=True)
class TextOptions(OptionGroup, panel="Corpus"):
    """Which documents are read."""

    corpus: Annotated[
        list[str] | None,
        typer.Option("--corpus", "-c", metavar="FILE|DIR|-"),
        CORPUS_HELP,
    ] = None
    window: Annotated[
        int, typer.Option(help="Length of a window in tokens; shorter documents are not read.")
    ] = DEFAULTS.window_tokens
    windows: Annotated[
        int,
        typer.Option(
            "--windows",
            "-n",
            help="Maximum number of windows, each from another document; fewer than 20 answer "
            "nothing.",
        ),
    ] = DEFAULTS.windows
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = DEFAULTS.seed
    text_column: Annotated[str, typer.Option(help="Tables: column that holds the text.")] = "text"


@dataclass(frozen=True)
class ReachMeasuring(OptionGroup, panel="Measuring"):
    """What is measured."""

    distances: Annotated[
        str | None,
        typer.Option(help="Edges of the bins of distance, such as 1,8,64 (default: log-spaced)."),
    ] = None
    layers: Annotated[
        str | None,
        typer.Option(help="Measure only these layers, numbered from 1, such as 1,6,11."),
    ] = None
    skip: Annotated[
        str,
        typer.Option(help="What to leave out: any of shuffled,use,repeats,untrained."),
    ] = ""
    untrained: Annotated[int, typer.Option(help="Number of untrained models.")] = DEFAULTS.untrained


@dataclass(frozen=True)
class ReachOutput(OptionGroup, panel=OUTPUT_PANEL):
    """What is written, and what is printed."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder (default: one in runs/). An unfinished one is resumed.",
        ),
    ] = None
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Whether to write the figures.")
    ] = True
    as_json: Json = False
    quiet: Quiet = False


def reach_command(
    texts: TextOptions, model: ModelOptions, measuring: ReachMeasuring, output: ReachOutput
) -> None:
    """Show how far similarity, and the use of context, extend in long texts.

    Texts are compared with texts spliced from two documents: what is left is what a text holds
    together.
    """
    from headscope.reach.reach import reach

    try:
        result = reach(
            corpus=texts.corpus or ["demo"],
            window=texts.window,
            windows=texts.windows,
            seed=texts.seed,
            text_column=texts.text_column,
            distances=measuring.distances,
            layers=layer_numbers(measuring.layers),
            skip=[part.strip() for part in measuring.skip.split(",") if part.strip()],
            untrained=measuring.untrained,
            out=output.out,
            progress=not output.quiet,
            **model.keywords(),
        )
    except KeyboardInterrupt:
        sys.stderr.write(
            "headscope: interrupted; finished pairs are kept: "
            "run the same command again to resume\n"
        )
        raise typer.Exit(130) from None
    if output.figures:
        result.write_figures(Path(result.about["folder"]) / "figures")
    if output.as_json:
        typer.echo(json.dumps(result.to_json()))
    else:
        _print(result, output)


def _print(result: "Reach", output: ReachOutput) -> None:
    from headscope.findings.reach.extent import LEAST_PAIRS

    def words(value: object) -> str:
        return value if isinstance(value, str) else "-"  # pandas makes NaN of None beside words

    about, table = result.about, result.layers
    titles = {
        "layer": "layer",
        "reach": "reach",
        "reach_all": "with repeats",
        "reach_order": "by order",
        "reach_untrained": "untrained",
        "half": "half within",
        "most": "90 % within",
    }
    shown = {name: title for name, title in titles.items() if name in table}
    rows = [
        [*(cell(row[name], ".0f") for name in shown), words(row["decay"])]
        for row in table.to_dict("records")
    ]
    print_table(
        [*(Column(title, number=True) for title in shown.values()), Column("decay")],
        rows,
        title=f"{about['model']}: {about['documents']} documents, windows of {about['window']} "
        "tokens; distances in tokens",
        caption="reach: farthest distance at which different words are more alike in the text than "
        "across two documents; with repeats: also pairs of one word with itself; by order: more "
        "alike than in the same sentences shuffled",
        narrow=True,
    )
    if result.evidence.units < LEAST_PAIRS:
        typer.echo("fewer than 20 documents answer nothing: ask for more --windows")
    else:
        _print_findings(result)
    if not output.quiet:
        typer.echo(f"folder  {about['folder']}")


def _print_findings(result: "Reach") -> None:
    """What holds over heads: how many reach, what use and loss say, which have a role."""
    heads = result.heads
    typer.echo(f"{int(heads['reaches'].sum())} of {len(heads)} heads reach at all (5 % false)")
    if result.agreement is not None and len(result.agreement):
        row = result.agreement.iloc[-1]
        typer.echo(
            f"use of context agrees with similarity over heads by {row['agreement']:.2f} "
            f"[{row['agreement_low']:.2f}, {row['agreement_high']:.2f}] (Spearman, "
            f"{row['distance']:.0f} to {row['distance_to']:.0f} tokens)"
        )
    if result.loss is not None and len(result.loss):
        far = result.loss.iloc[-1]
        typer.echo(
            f"the loss increases by {far['increase']:.3f} [{far['increase_low']:.3f}, "
            f"{far['increase_high']:.3f}] nats when all beyond {far['distance']:.0f} tokens is "
            "from another document"
        )
    if "looks_back" in heads:
        _print_roles(result)


def _print_roles(result: "Reach") -> None:
    """Heads that look back far: those that look up themselves, strongest first, and the others."""
    roles = result.roles.sort_values("strength", ascending=False)
    for role, title in (
        ("retrieval", "heads that look up what came before"),
        ("follows", "heads that follow what others looked up"),
    ):
        named = roles[roles["role"] == role]
        names = [
            f"{layer}.{head}" for layer, head in zip(named["layer"], named["head"], strict=True)
        ]
        typer.echo(f"{title}, layer.head: {', '.join(names) or 'none'}")
        if role == "retrieval" and len(named):
            typer.echo(f"the clearest, {names[0]}: {named['evidence'].iloc[0]}")
