"""All figures of a run by their names."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from headscope.errors import SettingsError
from headscope.figures.aligned import aligned_figure
from headscope.figures.distance_heads import distance_heads_figure
from headscope.figures.distance_layers import distance_layers_figure
from headscope.figures.focal import focal_figure
from headscope.figures.frame import settled
from headscope.figures.head_grid import head_grid_figure
from headscope.figures.layers import layers_figure
from headscope.figures.nothing import NothingToDraw
from headscope.figures.roles import roles_figure
from headscope.figures.same_sentence import same_sentence_figure
from headscope.figures.separators import separators_figure
from headscope.figures.source import Source
from headscope.figures.style import style
from headscope.figures.summed import summed_figure
from headscope.figures.thresholds import thresholds_figure
from headscope.measures.tables import layer_table


@dataclass(frozen=True, slots=True)
class StackFindings:
    """What the figures of one attention stack are drawn from."""

    results: xr.Dataset
    source: Source
    roles: pd.DataFrame | None = None
    """The role of every head of the stack; None where roles are not known."""


def draw_figure(name: str, findings: StackFindings) -> Figure:
    """The figure of that name; `NothingToDraw` where the run has nothing for it to show."""
    refuse_unknown(name)
    with style():
        return settled(FIGURES[name](findings))


def draw_figures(names: Iterable[str], findings: StackFindings) -> dict[str, Figure]:
    """The figures of those names that the run has something to show for."""
    drawn = {}
    for name in names:
        with suppress(NothingToDraw):
            drawn[name] = draw_figure(name, findings)
    return drawn


def refuse_unknown(name: str) -> None:
    """Raise for a name that no figure has."""
    if name not in FIGURES:
        raise SettingsError(f"figure: {name!r} is unknown; choose one of {', '.join(FIGURES)}")


def _from_results(
    draw: Callable[[xr.Dataset, Source], Figure],
) -> Callable[[StackFindings], Figure]:
    return lambda findings: draw(findings.results, findings.source)


def _layers(findings: StackFindings) -> Figure:
    return layers_figure(layer_table(findings.results), findings.source.line)


def _roles(findings: StackFindings) -> Figure:
    if findings.roles is None:
        raise NothingToDraw("the roles of the heads are not known")
    return roles_figure(findings.roles, findings.source)


FIGURES: Mapping[str, Callable[[StackFindings], Figure]] = {
    "layers": _layers,
    "summed": _from_results(summed_figure),
    "aligned": _from_results(aligned_figure),
    "head-grid": _from_results(head_grid_figure),
    "distance-heads": _from_results(distance_heads_figure),
    "distance-layers": _from_results(distance_layers_figure),
    "separators": _from_results(separators_figure),
    "same-sentence": _from_results(same_sentence_figure),
    "focal": _from_results(focal_figure),
    "roles": _roles,
    "thresholds": _from_results(thresholds_figure),
}
"""In the order in which they tell the story."""
