"""What commands that make studies have in common: where a study goes, and how it is interrupted."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.option_groups import OptionGroup
from headscope.cli.options import OUTPUT_PANEL, Json, Quiet
from headscope.cli.tables import cell

if TYPE_CHECKING:
    from headscope.findings.resampling.bootstrap import Interval


@dataclass(frozen=True)
class StudyOutput(OptionGroup, panel=OUTPUT_PANEL):
    """What is written, and what is printed."""

    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder (default: one in runs/). An unfinished study there is resumed.",
        ),
    ] = None
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append a line of JSON for each event to this file."),
    ] = None
    as_json: Json = False
    quiet: Quiet = False


@contextmanager
def resumable() -> Iterator[None]:
    """While open, an interrupt from the keyboard says how to go on, and ends the command."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(
            "headscope: interrupted; finished shards are kept: "
            "run the same command again to resume\n"
        )
        raise typer.Exit(130) from None


def value_cell(one: "Interval", form: str = ".4f") -> str:
    """The value of an interval, as a cell of a table.

    Args:
        one: A value with its interval.
        form: Of the number.
    """
    return cell(one.value, form)


def range_cell(one: "Interval", form: str = ".4f") -> str:
    """The ends of an interval, as a cell of a table.

    Args:
        one: A value with its interval.
        form: Of the numbers.
    """
    return f"{cell(one.low, form)} to {cell(one.high, form)}"
