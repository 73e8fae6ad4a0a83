"""`headscope look`: one text, every head, as an interactive page."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.options import (
    AllowPickle,
    Device,
    Dtype,
    Json,
    ModelOption,
    Quiet,
    TrustRemoteCode,
)
from headscope.errors import CorpusError, SettingsError
from headscope.settings import similarity_variant

if TYPE_CHECKING:
    from headscope.look.view import View


def look_command(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text; - for standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Read the text from this UTF-8 file.")
    ] = None,
    model: ModelOption = "demo",
    out: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("look.html"),
    window: Annotated[
        int | None, typer.Option(help="Only the first tokens, so many with special tokens.")
    ] = None,
    similarity: Annotated[str, typer.Option(help="raw, centred or cosine.")] = "raw",
    pairs: Annotated[
        str, typer.Option(help="High-similarity pairs: top:SHARE or max:FRACTION.")
    ] = "top:0.01",
    attention_threshold: Annotated[
        float, typer.Option(help="Scaled column mass from which a token has high attention.")
    ] = 0.3,
    special_tokens: Annotated[
        bool, typer.Option("--special-tokens", help="Let special tokens form pairs.")
    ] = False,
    dtype: Dtype = "float32",
    device: Device = "cpu",
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what every head does with one text, on a page of its own.

    Similarity, pairs and thresholds are where the page starts; they can be changed there.
    """
    given = _text(text, file)
    from headscope.look.look import look

    view = look(
        model,
        given,
        window=window,
        similarity=similarity_variant(similarity),
        pairs=pairs,
        attention_threshold=attention_threshold,
        special_tokens=special_tokens,
        dtype=dtype,
        device=device,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    page = view.save(out)
    if as_json:
        typer.echo(
            json.dumps({"page": str(page), "stacks": [_facts(view, s) for s in view.stacks]})
        )
    elif not quiet:
        typer.echo(f"page  {page}")


def _text(text: str | None, file: Path | None) -> str:
    if (text is None) == (file is None):
        raise SettingsError('give a text or --file, one of the two: headscope look "Some text."')
    try:
        if file is not None:
            return file.read_text(encoding="utf-8")
        return sys.stdin.buffer.read().decode() if text == "-" else str(text)
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
