"""What a figure of a run is, and what it is drawn from."""

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from headscope.errors import SettingsError
from headscope.findings.run_findings import RunFindings
from headscope.pages.figures.source import Source


@dataclass(frozen=True, slots=True)
class StackFindings:
    """What the figures of one attention stack are drawn from."""

    results: xr.Dataset
    source: Source
    roles: pd.DataFrame | None = None
    """The role of every head of the stack; None where roles are not known."""
    signal: pd.DataFrame | None = None
    """Signal, noise and writes of every head; None or empty where they were not measured."""
    redundancy: pd.DataFrame | None = None
    """CKA between the heads of the stack, by (layer, head)."""

    @classmethod
    def of(cls, run: RunFindings, stack: str) -> "StackFindings":
        """What a run found in one of its stacks; a stack that it does not have is refused."""
        if stack not in run.manifest.stacks:
            raise SettingsError(
                f"stack: {stack!r} is unknown; this run has {', '.join(run.manifest.stacks)}"
            )
        roles = run.roles[run.roles["stack"] == stack]
        return cls(
            run.stacks[stack],
            Source.of(run.manifest, stack),
            roles,
            signal=run.signal[run.signal["stack"] == stack],
            redundancy=run.redundancy.get(stack),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigure:
    """A figure of a run, and its place in the report."""

    name: str
    """The name of its file, and in `run.figure(NAME)`."""
    draw: Callable[[StackFindings], Figure]
    """Raises `NothingToDraw` if a run has nothing to show in it."""
    caption: str
    """What it shows, in a sentence or two."""
    in_report: bool = True
    """Whether the report shows it; `headscope figures` draws all."""
    section: str | None = None
    """The title of the section of the report that begins with it."""


def from_results(
    draw: Callable[[xr.Dataset, Source], Figure],
) -> Callable[[StackFindings], Figure]:
    """The `draw` of a figure that needs only the arrays of a stack."""
    return lambda findings: draw(findings.results, findings.source)
