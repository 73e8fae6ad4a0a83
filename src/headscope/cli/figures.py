"""`headscope figures`: the figures of a run, as files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import Json, Quiet, RunFolder


def figures_command(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the figures (default: RUN/figures)."),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", "-f", help="One or more of png, svg and pdf.")
    ] = "png,svg,pdf",
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME", help="Draw only this figure. May be given several times."
        ),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option(help="Draw only this attention stack: encoder, decoder or cross."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw the figures of a run for screen and print."""
    from headscope.run import open_run

    written = open_run(run).figures(
        out, formats=[name.strip() for name in formats.split(",")], only=only or (), stack=stack
    )
    if as_json:
        files = [str(path) for path in written.files]
        typer.echo(json.dumps({"files": files, "left_out": dict(written.left_out)}))
        return
    if quiet:
        return
    for path in written.files:
        typer.echo(f"figure  {path}")
    for name, reason in written.left_out.items():
        typer.echo(f"no {name}: {reason}", err=True)
