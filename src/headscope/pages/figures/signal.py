"""Signal to noise and what heads write: maps of layers by heads."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.measures.signal import SIGNAL_MEASURES
from headscope.pages.figures.figure import RunFigure, StackFindings
from headscope.pages.figures.layout import NothingToDraw, framed_figure, name_cells
from headscope.pages.figures.matrices import draw_bar
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import ABSENT, SEQUENTIAL, SMALL, style

_PANELS = (
    "dependency_snr",
    "sentence_snr",
    "lemma_snr",
    "write_strength",
    "written_deviation",
    "repeatability",
)
_COLUMNS = 3


def signal_figure(table: pd.DataFrame, source: Source) -> Figure:
    """A map for each measure, each on its own scale; ratios below zero are drawn as zero.

    Args:
        table: Columns layer, head and the measures.
        source: What the figure was made from.
    """
    shown = [name for name in _PANELS if name in table and table[name].notna().any()]
    layers = sorted(table["layer"].unique().tolist())
    heads = int(table["head"].max())
    rows = -(-len(shown) // _COLUMNS)
    with style():
        figure = framed_figure(
            "Signal to noise, and what heads write",
            source.line,
            "over a sample of these windows; a scale for each map. Signal to noise is not "
            "importance: heads without it can matter, heads with it need not",
            height=0.9 + rows * max(1.5, 0.16 * len(layers) + 0.6),
        )
        panels = np.atleast_1d(figure.subplots(rows, _COLUMNS, squeeze=False)).ravel()
        for panel, name in zip(panels, shown, strict=False):
            grid = map_of(table, name, layers, heads)
            image = panel.imshow(
                np.ma.masked_invalid(np.maximum(grid, 0)),
                cmap=mpl.colormaps[SEQUENTIAL].with_extremes(bad=ABSENT),
                vmin=0,
                extent=(0.5, heads + 0.5, len(layers) + 0.5, 0.5),
                aspect="auto",
            )
            name_cells(panel, layers, heads)
            panel.tick_params(labelsize=SMALL)
            panel.set_title(SIGNAL_MEASURES[name].title)
            draw_bar(panel, image, SIGNAL_MEASURES[name].unit)
        for panel in panels[len(shown) :]:
            panel.set_visible(False)
        return figure


def map_of(
    table: pd.DataFrame, name: str, layers: list[int], heads: int
) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """A column of the table as layers by heads; NaN where a layer has no such head.

    Args:
        table: Columns layer, head and `name`.
        name: Of the column.
        layers: The rows.
        heads: Number of columns.
    """
    grid = np.full((len(layers), heads), np.nan)
    for layer, head, value in table[["layer", "head", name]].to_numpy():
        grid[layers.index(int(layer)), int(head) - 1] = value
    return grid


def _draw(findings: StackFindings) -> Figure:
    if findings.signal is None or findings.signal.empty:
        raise NothingToDraw("the run has no signal and noise; it was made without --signal")
    return signal_figure(findings.signal, findings.source)


SIGNAL = RunFigure(
    name="signal",
    draw=_draw,
    caption="Signal to noise by relation, write strength, written deviation and repeatability of "
    "every head, over a sample of the windows. Signal to noise is not importance.",
    section="Signal and noise",
)
