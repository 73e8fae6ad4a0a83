"""`headscope serve`: the viewer live, on this machine."""

from typing import Annotated

import typer

from headscope.cli.options import Quiet


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
    port: Annotated[int, typer.Option(help="Of 127.0.0.1; 0 for any that is free.")] = 8000,
    max_tokens: Annotated[
        int, typer.Option(help="Longer texts are cut off at so many tokens.")
    ] = 512,
    quiet: Quiet = False,
) -> None:
    """Type a text in the browser, choose a model on this machine, and see its heads.

    For this machine alone: nobody else can reach it. Ctrl-C ends it.
    """
    from headscope.serve.server import serve

    def say(address: str) -> None:
        if not quiet:
            typer.echo(f"serving  {address}  (Ctrl-C ends it)")

    serve(model or [], port=port, max_tokens=max_tokens, on_start=say)
