"""The layout that figures share: the frame, grids of heads, axes of layers, intervals."""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.pages.figures.style import FULL_WIDTH, MEASURED, SMALL


class NothingToDraw(RunError):
    """A run has nothing to show in a figure; the message says why."""


def framed_figure(title: str, *lines: str, height: float) -> Figure:
    """An empty figure as wide as a page, with a title above and lines about its data below."""
    figure = Figure(figsize=(FULL_WIDTH, height), layout="constrained")
    # Names may contain dollar signs, which do not mean mathematics here.
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", parse_math=False)
    figure.supxlabel(
        "\n".join(line for line in lines if line),
        x=0.01,
        ha="left",
        fontsize=SMALL,
        color="#444444",
        parse_math=False,
    )
    return figure


def settled(figure: Figure) -> Figure:
    """The figure with everything in its final place.

    Drawing computes the layout, a little differently each time and at each resolution. Once it is
    settled, a figure is the same in every format, whatever was written before.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def label_grid(panel: Axes, results: xr.Dataset) -> None:
    """Number the cells: row 1 is the first layer measured, column 1 is head 1."""
    name_cells(panel, results["layer"].to_numpy().tolist(), len(results["head"]))


def name_cells(panel: Axes, layers: list[int], heads: int) -> None:
    """Axes labelled with layers (not always 1, 2, 3, ...) and heads; no frame, no tick marks."""
    panel.set_xlim(0.5, heads + 0.5)
    panel.set_ylim(len(layers) + 0.5, 0.5)
    panel.set_xticks(np.arange(1, heads + 1))
    panel.set_yticks(np.arange(1, len(layers) + 1), [str(layer) for layer in layers])
    panel.set_xlabel("head")
    panel.set_ylabel("layer")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


_SPREAD = 0.5
"""Width, in layers, over which the points of a layer are spread, head 1 leftmost."""


def draw_by_layer(
    panel: Axes,
    layers: NDArray[np.int64],
    of_heads: NDArray[np.float64],
    of_layers: NDArray[np.float64],
) -> None:
    """Points for heads, of shape (layer, head), and a line for layers. NaN is left out."""
    heads = of_heads.shape[1]
    shift = (np.arange(heads) - (heads - 1) / 2) / heads * _SPREAD
    panel.plot(
        (layers[:, None] + shift).ravel(),
        of_heads.ravel(),
        linestyle="none",
        marker="o",
        markersize=2.4,
        markeredgewidth=0,
        color=MEASURED,
        alpha=0.45,
        label="head",
    )
    panel.plot(layers, of_layers, color=MEASURED, marker="D", markersize=3.5, label="layer")
    label_layers(panel, layers)


def label_layers(panel: Axes, layers: NDArray[np.int64]) -> None:
    """A horizontal axis of layers, with whole numbers."""
    panel.set_xlabel("layer")
    panel.set_xlim(layers[0] - 0.6, layers[-1] + 0.6)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))


def draw_with_interval(panel: Axes, line: pd.DataFrame, across: str, **look: Any) -> None:
    """A line of `value` over a column, with a band from `low` to `high`."""
    panel.plot(line[across], line["value"], **look)
    panel.fill_between(
        line[across], line["low"], line["high"], color=look["color"], alpha=0.15, linewidth=0
    )
