"""Figures: one figure, one file, drawn from findings with matplotlib. No torch in here.

To add one, write a file with a `RunFigure` and put it into `FIGURES` below.
"""

from collections.abc import Iterable
from contextlib import suppress

from matplotlib.figure import Figure

from headscope.pages.figures.aligned import ALIGNED
from headscope.pages.figures.distance_heads import DISTANCE_HEADS
from headscope.pages.figures.distance_layers import DISTANCE_LAYERS
from headscope.pages.figures.figure import RunFigure, StackFindings
from headscope.pages.figures.focal import FOCAL
from headscope.pages.figures.head_grid import HEAD_GRID
from headscope.pages.figures.layers import LAYERS
from headscope.pages.figures.layout import NothingToDraw, settled
from headscope.pages.figures.redundancy import REDUNDANCY
from headscope.pages.figures.roles import ROLE_MAP
from headscope.pages.figures.same_sentence import SAME_SENTENCE_BY_LAYER
from headscope.pages.figures.separators import SEPARATORS_BY_LAYER
from headscope.pages.figures.signal import SIGNAL
from headscope.pages.figures.style import style
from headscope.pages.figures.summed import SUMMED
from headscope.pages.figures.thresholds import THRESHOLDS
from headscope.system.registry import Registry

FIGURES: Registry[RunFigure] = Registry(
    "figure",
    [
        LAYERS,
        SUMMED,
        HEAD_GRID,
        DISTANCE_HEADS,
        DISTANCE_LAYERS,
        SEPARATORS_BY_LAYER,
        SAME_SENTENCE_BY_LAYER,
        ALIGNED,
        FOCAL,
        ROLE_MAP,
        SIGNAL,
        REDUNDANCY,
        THRESHOLDS,
    ],
)
"""In the order in which the report shows them."""


def draw_figure(name: str, findings: StackFindings) -> Figure:
    """The figure of that name; raises `NothingToDraw` if the run has nothing to show in it."""
    figure = FIGURES[name]
    with style():
        return settled(figure.draw(findings))


def draw_figures(figures: Iterable[RunFigure], findings: StackFindings) -> dict[str, Figure]:
    """Some figures by name, without those that the run has nothing to show in."""
    drawn = {}
    for figure in figures:
        with suppress(NothingToDraw):
            drawn[figure.name] = draw_figure(figure.name, findings)
    return drawn


__all__ = ["FIGURES", "NothingToDraw", "RunFigure", "StackFindings", "draw_figure", "draw_figures"]
