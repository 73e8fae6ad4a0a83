"""`headscope merge`: several runs made into one."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import Quiet


def merge_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the merged run.")],
    quiet: Quiet = False,
) -> None:
    """Make one run of several: parts of one run, or runs over different texts.

    They must have been made with the same model and settings.
    """
    from headscope.merge import merge

    merged = merge(runs, out)
    if not quiet:
        typer.echo(f"run     {merged.folder} ({merged.manifest.corpus.windows} texts)")
        typer.echo(f"report  {merged.folder / 'report.html'}")
