"""`headscope compare`: models side by side."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.options import AllowPickle, Json, Quiet, TrustRemoteCode
from headscope.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

    from headscope.compare import Comparison


def compare_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders.")],
    untrained: Annotated[
        bool, typer.Option("--untrained", help="Put each run's untrained models beside it.")
    ] = False,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps", help="The runs are checkpoints: read training steps from their names."
        ),
    ] = False,
    match: Annotated[
        bool,
        typer.Option(
            "--match",
            help="Load the models and find, for each head of the first, the head of each other one "
            "that does the same.",
        ),
    ] = False,
    texts: Annotated[int, typer.Option(help="With --match: windows to match heads on.")] = 64,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Write a figure: .png, .svg or .pdf.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the resampling.")] = 0,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show runs side by side over relative depth, with differences to the first of them."""
    from headscope.compare import compare
    from headscope.pages.figures.write import figure_bytes
    from headscope.run import open_run
    from headscope.runs.files import write_whole

    kind = None if figure is None else _format(figure)
    opened = [open_run(folder) for folder in runs]
    comparison = compare(opened, untrained=untrained, steps=steps, seed=seed)
    matches: dict[str, pd.DataFrame] = {}
    if match:
        from headscope.compare.match import match_runs

        for folder, other in zip(runs[1:], opened[1:], strict=True):
            matches[str(folder)] = match_runs(
                opened[0],
                other,
                texts=texts,
                seed=seed,
                allow_pickle=allow_pickle,
                trust_remote_code=trust_remote_code,
                progress=not quiet,
            )
    if figure is not None and kind is not None:
        write_whole(figure, figure_bytes(comparison.figure(), kind))
    if as_json:
        typer.echo(json.dumps(comparison.to_json() | {"matches": _records(matches)}))
        return
    _print(comparison, matches, str(runs[0]), quiet)
    if figure is not None and not quiet:
        typer.echo(f"figure  {figure}")


def _print(
    comparison: "Comparison", matches: dict[str, "pd.DataFrame"], first: str, quiet: bool
) -> None:
    from headscope.cli.compare_tables import print_comparison, print_match

    print_comparison(comparison, remarks=not quiet)
    for other, table in matches.items():
        print_match(table, first, other)


def _format(path: Path) -> str:
    from headscope.pages.figures.write import FORMATS

    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise SettingsError(f"figure: {path} must end in .{', .'.join(FORMATS)}")
    return kind


def _records(matches: dict[str, "pd.DataFrame"]) -> dict[str, Any]:
    return {name: json.loads(table.to_json(orient="records")) for name, table in matches.items()}
