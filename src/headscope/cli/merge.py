"""`headscope merge`: several runs merged into one."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli.options import Quiet, RunFolders


def merge_command(
    runs: RunFolders,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the merged run.")],
    quiet: Quiet = False,
) -> None:
    """Merge several runs into one: parts of one run, or runs over different corpora.

    They must have been made with the same model and settings.
    """
    from headscope.merge import merge

    merged = merge(runs, out)
    if not quiet:
        typer.echo(f"run     {merged.folder} ({merged.manifest.corpus.windows} windows)")
        typer.echo(f"report  {merged.folder / 'report.html'}")
