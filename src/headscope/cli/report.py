"""`headscope report`: the page about a run."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import Quiet


def report_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to; RUN/report.html by default.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write the report of a run: one page, which needs no network and no model."""
    from headscope.run import open_run

    report = open_run(run).report(out)
    if not quiet:
        typer.echo(f"report  {report}")
