"""`headscope export`: the tables of a run as files for other programs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import Json, Quiet, RunFolder
from headscope.system.terminal import visible


def export_command(
    run: RunFolder,
    to: Annotated[str, typer.Option("--to", help="csv or parquet.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the files (default: RUN-csv, RUN-parquet)."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the tables of a run as CSV or Parquet: heads, layers, roles, claims, sweep, rows."""
    from headscope.run import open_run

    opened = open_run(run)
    written = opened.export(out or Path(f"{run.name}-{to}"), to=to)
    if as_json:
        typer.echo(json.dumps({name: str(path) for name, path in written.items()}))
    elif not quiet:
        width = max(map(len, written))
        for name, path in written.items():
            typer.echo(f"{name:{width}}  {visible(str(path))}")
