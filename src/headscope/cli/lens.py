"""`headscope lens`: what each layer of a language model guesses."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.analyze import CorpusOptions
from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import DEFAULTS, ModelOptions, layer_numbers
from headscope.cli.study_output import StudyOutput, range_cell, resumable, value_cell
from headscope.cli.tables import Column, cell, print_table
from headscope.errors import SettingsError
from headscope.settings import LENS_POSITIONS, LENS_WINDOWS

if TYPE_CHECKING:
    from headscope.lens.result import Lens


@dataclass(frozen=True)
class LensCorpus(CorpusOptions):
    """What is read: a sample, since every layer goes through the vocabulary."""

    texts: Annotated[
        int | None,
        typer.Option(
            "--texts", "-n", help="Number of windows, drawn at random over the whole corpus."
        ),
    ] = LENS_WINDOWS


@dataclass(frozen=True)
class LensMeasuring(OptionGroup, panel="Measuring"):
    """What is guessed, and by which layers."""

    positions: Annotated[
        str,
        typer.Option(
            metavar="N|all",
            help="Scored positions of each window, drawn at random; masked and unmasked ones each.",
        ),
    ] = str(LENS_POSITIONS)
    whole_words: Annotated[
        bool,
        typer.Option("--whole-words", help="Masked language models: hide whole words, not tokens."),
    ] = False
    probe: Annotated[
        str | None,
        typer.Option(
            metavar="tokens|words",
            help="tokens: also read layers through affine maps to the last layer, fitted on other "
            "documents. words: probe layers of any model for parts of speech instead, on a "
            "treebank.",
        ),
    ] = None
    layers: Annotated[
        str | None,
        typer.Option(help="Only these layers, numbered from 1, such as 1,6,11."),
    ] = None
    batch_tokens: Annotated[
        int, typer.Option(help="Number of tokens that go through the model at once.")
    ] = DEFAULTS.batch_tokens


@dataclass(frozen=True)
class LensOutput(StudyOutput):
    """What is written, and what is printed."""

    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Whether to write the figures.")
    ] = True


def lens_command(
    corpus: LensCorpus, model: ModelOptions, measuring: LensMeasuring, output: LensOutput
) -> None:
    """Show what each layer of a language model guesses, through the model's own head.

    Entropy, loss and accuracy of each layer's guess, with intervals over documents. Causal models
    guess the next token, masked ones hidden tokens, encoder-decoders what they write themselves.
    """
    from headscope.lens.lens import lens

    options: dict[str, Any] = {**corpus.keywords(), **model.keywords(), **measuring.keywords()}
    options |= {
        "corpus": corpus.corpus or ["demo"],
        "layers": layer_numbers(measuring.layers),
        "positions": _positions(measuring.positions),
    }
    with resumable():
        result = lens(**options, out=output.out, log=output.log, progress=not output.quiet)
    if output.figures:
        result.write_figures()
    if output.as_json:
        typer.echo(json.dumps(result.to_json()))
        return
    if result.usual_part is None:
        _print_layers(result)
    else:
        _print_words(result)
    if not output.quiet:
        typer.echo(f"study   {result.folder}")


def _positions(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal():
        raise SettingsError(f"positions: {text!r} is neither a number nor all")
    return int(text)


def _print_words(result: "Lens") -> None:
    rows = [
        [str(layer.layer), value_cell(told, ".3f"), range_cell(told, ".3f")]
        for layer in result.layers
        for told in [layer.readings["probe"]["part_of_speech"]]
    ]
    print_table(
        [Column(title, number=True) for title in ("layer", "part of speech", "95 % interval")],
        rows,
        title=f"{result.model}: {result.positions:,} words in {result.windows:,} windows of "
        f"{result.corpus}, {result.documents:,} documents",
        caption="share of words whose part of speech a linear probe tells, fitted on other "
        "documents; layer 0: what the first layer reads",
    )
    assert result.usual_part is not None
    typer.echo(f"the most frequent part of speech alone  {value_cell(result.usual_part, '.3f')}")


def _print_layers(result: "Lens") -> None:
    """A table for the lens, and one for the probe, if there is one."""
    there = result.layers[0].readings
    for kind in ("lens", "probe"):
        if kind in there:
            _print_scores(result, [name for name in there if name.partition("_")[0] == kind])
    if result.by_frequency:
        last = ", ".join(
            f"{one.name}: {cell(one.accuracy[-1].value, '.3f')} ({one.types:,})"
            for one in result.by_frequency
        )
        typer.echo(f"by type in the last layer, by occurrences (types)  {last}")


def _print_scores(result: "Lens", readings: list[str]) -> None:
    several = len(readings) > 1
    rows: list[list[str] | None] = []
    for reading in readings:
        if rows:
            rows.append(None)
        for layer in result.layers:
            scores = layer.readings[reading]
            rows.append(
                [
                    *([reading.partition("_")[2] or "masked"] if several else []),
                    str(layer.layer),
                    value_cell(scores["entropy"], ".2f"),
                    value_cell(scores["cross_entropy"], ".2f"),
                    range_cell(scores["cross_entropy"], ".2f"),
                    value_cell(scores["accuracy"], ".3f"),
                    value_cell(scores["token_type_accuracy"], ".3f"),
                    value_cell(scores["rank"], ".1f"),
                    value_cell(scores["kl"], ".2f"),
                ]
            )
    titles = ["layer", "entropy", "loss", "95 % interval", "accuracy", "by type", "rank", "KL"]
    print_table(
        [
            *([Column("tokens")] if several else []),
            *(Column(title, number=True) for title in titles),
        ],
        rows,
        title=f"{readings[0]}, {result.model}: {result.positions:,} positions in "
        f"{result.windows:,} windows of {result.corpus}, {result.documents:,} documents",
        caption="entropy, loss and KL to the last layer in nats; by type: accuracy with every "
        "token type counted alike; rank: geometric mean; layer 0: what the first layer reads",
        narrow=True,
    )
