"""`headscope report`: the page about a run."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import Quiet, RunFolder


def report_command(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page (default: RUN/report.html).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write the report of a run: one page that needs neither network nor model."""
    from headscope.run import open_run

    report = open_run(run).report(out)
    if not quiet:
        typer.echo(f"report  {report}")
