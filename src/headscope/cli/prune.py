"""`headscope prune`: a model without the heads that matter least."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.analyze import CORPUS_HELP
from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import DEFAULTS, OUTPUT_PANEL, Json, ModelOptions, Quiet
from headscope.cli.tables import Column, print_table
from headscope.system.terminal import visible

if TYPE_CHECKING:
    from headscope.intervene.pruning import Pruning


@dataclass(frozen=True)
class PruneCorpusOptions(OptionGroup, panel="Corpus"):
    """What is read."""

    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", "-c", metavar="FILE|DIR|-"), CORPUS_HELP
    ] = None
    texts: Annotated[
        int,
        typer.Option(
            "--texts",
            "-n",
            help="Maximum number of windows, drawn at random: half of the documents choose heads, "
            "the other half judges.",
        ),
    ] = 200
    window: Annotated[
        int, typer.Option(help="Maximum number of tokens in a window, special tokens included.")
    ] = DEFAULTS.window_tokens
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = DEFAULTS.seed
    text_column: Annotated[str, typer.Option(help="Tables: column that holds the text.")] = "text"


@dataclass(frozen=True)
class HeadsOptions(OptionGroup, panel="Heads"):
    """Which heads go. One of the first three is needed."""

    heads: Annotated[int | None, typer.Option(help="Number of heads to remove.")] = None
    share: Annotated[float | None, typer.Option(help="Share of all heads to remove.")] = None
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Remove as many as cost at most this share of the loss, such as 1%, on the "
            "documents that choose.",
        ),
    ] = None
    by: Annotated[
        str,
        typer.Option(
            help="What heads are chosen by: written_deviation, write_strength, gradient, ablation "
            "(every head switched off in turn) or random."
        ),
    ] = "written_deviation"
    replace: Annotated[
        str | None,
        typer.Option(
            help="What takes the place of what a head writes: mean (a bias), zero or "
            "least-squares (default: mean where the family has a bias there, otherwise zero)."
        ),
    ] = None


@dataclass(frozen=True)
class PruneOutput(OptionGroup, panel=OUTPUT_PANEL):
    """Where the model goes, and what is printed."""

    out: Annotated[
        Path | None, typer.Option(help="Model folder to write (default: none is written).")
    ] = None
    as_json: Json = False
    quiet: Quiet = False


def prune_command(
    model: ModelOptions, corpus: PruneCorpusOptions, heads: HeadsOptions, output: PruneOutput
) -> None:
    """Remove the heads that matter least, and show what the model loses by that.

    Heads are chosen on one half of the documents and judged on the other. --out writes a model
    folder that loads with from_pretrained anywhere, heads.json, and a really smaller model where
    the family's shapes allow it.
    """
    from headscope.intervene.prune import prune

    loading = model.keywords()
    pruning = prune(
        loading.pop("model"),
        corpus.corpus or "demo",
        heads=heads.heads,
        share=heads.share,
        loss=heads.loss,
        by=heads.by,
        replace=heads.replace,
        out=output.out,
        texts=corpus.texts,
        progress=not output.quiet,
        window=corpus.window,
        seed=corpus.seed,
        text_column=corpus.text_column,
        **loading,
    )
    if output.as_json:
        typer.echo(json.dumps(pruning.as_dict()))
        return
    _print_curve(pruning)
    typer.echo(visible(pruning.sentence))
    if pruning.path is not None:
        typer.echo(f"model    {visible(str(pruning.path))}")
        typer.echo(f"smaller  {visible(pruning.smaller)}")


def _print_curve(pruning: "Pruning") -> None:
    """A row for each number of heads, a column for each way to choose them."""
    criteria = list(dict.fromkeys(point.by for point in pruning.curve))
    points = {(point.by, point.heads): point for point in pruning.curve}
    rows = [
        [
            f"{number}",
            f"{number / pruning.of_heads:.0%}",
            *(str(points[by, number].increase) for by in criteria),
        ]
        for number in sorted({point.heads for point in pruning.curve})
    ]
    print_table(
        [
            Column("heads", number=True),
            Column("share", number=True),
            *(Column(by.replace("_", " "), number=True) for by in criteria),
        ],
        rows,
        title=f"{pruning.model}: what is lost, by how heads were chosen ({pruning.unit})",
        caption=f"on {pruning.documents} documents that chose no head; 95 % intervals",
        gap=2,
    )
