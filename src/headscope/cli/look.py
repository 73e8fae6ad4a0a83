"""`headscope look`: one text, every head, as an interactive page."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import (
    OUTPUT_PANEL,
    Json,
    Layers,
    ModelOptions,
    PairOptions,
    Quiet,
    layer_numbers,
)
from headscope.errors import CorpusError, SettingsError
from headscope.settings import similarity_variant
from headscope.system.untrusted import open_untrusted
from headscope.text.readers.source_file import MAX_TEXT_BYTES

if TYPE_CHECKING:
    from headscope.look.view import View


@dataclass(frozen=True)
class TextOptions(OptionGroup, panel="Text"):
    """Where the text comes from, and how much of it is read."""

    file: Annotated[
        Path | None, typer.Option("--file", help="Read the text from this UTF-8 file.")
    ] = None
    window: Annotated[
        int | None,
        typer.Option(help="Read only this many tokens from the start, special tokens included."),
    ] = None
    layers: Layers = None


@dataclass(frozen=True)
class PageOptions(OptionGroup, panel=OUTPUT_PANEL):
    """What is written, and what is printed."""

    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("look.html")
    as_json: Json = False
    quiet: Quiet = False


def look_command(
    source: TextOptions,
    model: ModelOptions,
    measuring: PairOptions,
    output: PageOptions,
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text; - for standard input.")
    ] = None,
) -> None:
    """Show what every head does with one text, on a page of its own.

    The page starts with this similarity, these pairs and this threshold; they can be changed there.
    """
    given = _text(text, source.file)
    from headscope.look.look import look

    options = model.keywords() | measuring.keywords()
    options["similarity"] = similarity_variant(measuring.similarity)
    options["layers"] = layer_numbers(source.layers)
    view = look(text=given, window=source.window, **options)
    page = view.save(output.out)
    if output.as_json:
        stacks = [_facts(view, stack) for stack in view.stacks]
        typer.echo(json.dumps({"page": str(page), "stacks": stacks}))
    elif not output.quiet:
        typer.echo(f"page  {page}")


def _text(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise SettingsError('give a text or --file, one of the two: headscope look "Some text."')
    try:
        if text == "-" or str(file) in ("-", "/dev/stdin"):
            return sys.stdin.buffer.read().decode()
        if file is None:
            return str(text)
        with open_untrusted(file, max_bytes=MAX_TEXT_BYTES) as stream:
            return stream.read().decode().replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise CorpusError(f"cannot read {file}: {error.strerror}; check the name") from error
    except UnicodeDecodeError as error:
        where = file or "standard input"
        raise CorpusError(f"{where} is not UTF-8: {error.reason} at {error.start}") from error


def _facts(view: "View", stack: str) -> dict[str, Any]:
    here = view.stack(stack)
    return {
        "stack": stack,
        "tokens": list(here.tokens),
        "pairs": json.loads(here.pairs.to_json(orient="records")),
        "focal": json.loads(here.focal.to_json(orient="records")),
    }
