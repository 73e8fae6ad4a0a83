"""`headscope serve`: the viewer live, on this machine."""

from typing import Annotated

import typer

from headscope.cli.options import Quiet
from headscope.serve import MAX_TOKENS, PORT


def serve_command(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="M",
            help="Offer this model: a folder or a hub id. May be given several times.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1 (0: any free one).")] = PORT,
    max_tokens: Annotated[
        int, typer.Option(help="Maximum number of tokens; longer texts are cut off.")
    ] = MAX_TOKENS,
    quiet: Quiet = False,
) -> None:
    """Serve a page on which to type a text, choose a local model, and see its heads.

    It can be reached from this machine only. Ctrl-C stops it.
    """
    from headscope.serve.server import serve

    def say(address: str) -> None:
        if not quiet:
            typer.echo(f"serving  {address}  (Ctrl-C stops it)")

    serve(model or [], port=port, max_tokens=max_tokens, on_start=say)
