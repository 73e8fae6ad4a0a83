"""`headscope compare`: models side by side."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import (
    OUTPUT_PANEL,
    AllowPickle,
    Json,
    Quiet,
    RunFolders,
    TrustRemoteCode,
)
from headscope.errors import SettingsError
from headscope.settings import MATCH_WINDOWS

if TYPE_CHECKING:
    import pandas as pd

    from headscope.run import Run


@dataclass(frozen=True)
class ComparisonOptions(OptionGroup, panel="Comparison"):
    """What is compared: the keywords of `compare`."""

    untrained: Annotated[
        bool, typer.Option("--untrained", help="Also show each run's untrained models.")
    ] = False
    steps: Annotated[
        bool,
        typer.Option(
            "--steps",
            help="The runs are checkpoints: read training steps, and seeds, from their names.",
        ),
    ] = False
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0


@dataclass(frozen=True)
class MatchOptions(OptionGroup, panel="Matching heads"):
    """Whether heads are matched, and how the models are loaded for it."""

    match: Annotated[
        bool,
        typer.Option(
            "--match",
            help="Load the models and find, for each head of the first one, the most similar head "
            "of each other one.",
        ),
    ] = False
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="M",
            help="The model of a run, to match its heads: once for each run, in their order. Not "
            "needed if all are of [b]demo[/b].",
        ),
    ] = None
    texts: Annotated[int, typer.Option(help="Number of windows to match heads on.")] = MATCH_WINDOWS
    allow_pickle: AllowPickle = False
    trust_remote_code: TrustRemoteCode = False


@dataclass(frozen=True)
class FigureOptions(OptionGroup, panel=OUTPUT_PANEL):
    """What is written, and what is printed."""

    figure: Annotated[
        Path | None, typer.Option("--figure", help="Write a figure: .png, .svg or .pdf.")
    ] = None
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write a page: curves, role maps, verdicts and the most striking heads.",
        ),
    ] = None
    as_json: Json = False
    quiet: Quiet = False


def compare_command(
    runs: RunFolders, comparing: ComparisonOptions, matching: MatchOptions, output: FigureOptions
) -> None:
    """Show runs side by side over relative depth, with differences from the first one."""
    from headscope.compare import compare
    from headscope.pages.figures.write import figure_bytes
    from headscope.run import open_run
    from headscope.runs.files import write_whole

    kind = None if output.figure is None else _format(output.figure)
    opened = [open_run(folder) for folder in runs]
    comparison = compare(opened, **comparing.keywords())
    matches = _matches(opened, comparing.seed, matching, output) if matching.match else {}
    if output.figure is not None and kind is not None:
        write_whole(output.figure, figure_bytes(comparison.figure(), kind))
    if output.html is not None:
        comparison.save(output.html)
    if output.as_json:
        typer.echo(json.dumps(comparison.to_json() | {"matches": _records(matches)}))
        return
    from headscope.cli.compare_tables import print_comparison, print_match
    from headscope.cli.training_tables import print_training

    if comparing.steps and not comparing.untrained:
        print_training(comparison, remarks=not output.quiet)
    else:
        print_comparison(comparison, remarks=not output.quiet)
    for other, table in matches.items():
        print_match(table, str(runs[0]), other)
    if output.figure is not None and not output.quiet:
        typer.echo(f"figure  {output.figure}")
    if output.html is not None and not output.quiet:
        typer.echo(f"page  {output.html}")


def _matches(
    runs: "list[Run]", seed: int, matching: MatchOptions, output: FigureOptions
) -> "dict[str, pd.DataFrame]":
    """The heads of each other run that are most like those of the first, by the run's folder."""
    from headscope.compare.match import match_runs

    models = matching.model or []
    if models and len(models) != len(runs):
        raise SettingsError(
            f"--model is given {len(models)} times for {len(runs)} runs; give it once for each "
            "run, in their order"
        )
    first, *others = runs
    return {
        str(other.folder): match_runs(
            first,
            other,
            models=[models[0], models[place]] if models else [],
            texts=matching.texts,
            seed=seed,
            allow_pickle=matching.allow_pickle,
            trust_remote_code=matching.trust_remote_code,
            progress=not output.quiet,
        )
        for place, other in enumerate(others, 1)
    }


def _format(path: Path) -> str:
    from headscope.pages.figures.write import FORMATS

    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise SettingsError(f"figure: {path} must end in .{', .'.join(FORMATS)}")
    return kind


def _records(matches: dict[str, "pd.DataFrame"]) -> dict[str, Any]:
    return {name: json.loads(table.to_json(orient="records")) for name, table in matches.items()}
