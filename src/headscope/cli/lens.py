"""`headscope lens`: what each layer of a language model guesses."""

import json
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from headscope.cli.analyze import CorpusOptions
from headscope.cli.lens_tables import print_heads, print_layers, print_trees, print_words
from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import DEFAULTS, ModelOptions, layer_numbers
from headscope.cli.study_output import StudyOutput, resumable
from headscope.errors import SettingsError
from headscope.settings import LENS_POSITIONS, LENS_WINDOWS


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
            metavar="tokens|words|distances",
            help="tokens: also read layers through affine maps to the last layer, fitted on other "
            "documents. words: probe layers of any model for parts of speech instead, on a "
            "treebank. distances: for distances in dependency trees, likewise.",
        ),
    ] = None
    heads: Annotated[
        bool,
        typer.Option("--heads", help="Also what each layer's guess loses without each head."),
    ] = False
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
    if result.usual_part is not None:
        print_words(result)
    elif result.linear_distance is not None:
        print_trees(result, result.linear_distance)
    else:
        print_layers(result)
    if result.head_effects is not None:
        print_heads(result, result.head_effects)
    if not output.quiet:
        typer.echo(f"study   {result.folder}")


def _positions(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal():
        raise SettingsError(f"positions: {text!r} is neither a number nor all")
    return int(text)
