"""The mean similarity of every head as a small map: layers by heads."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import framed_figure, label_grid
from headscope.pages.figures.matrices import draw_bar, mean_similarity
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import DIVERGING, FULL_WIDTH, SEQUENTIAL, SMALL, style
from headscope.pages.value_range import value_range

TILE = 64
"""The most cells along the side of a map: more could not be seen at its size."""
GAP = 0.06
"""The space between tiles, as a share of a tile's side."""


def head_grid_figure(results: xr.Dataset, source: Source) -> Figure:
    """One map per head, each on its own scale, from its least similar positions to its most.

    Heads differ in size by orders of magnitude, so their scales do not compare; shapes do.
    """
    means = np.asarray(mean_similarity(results, source.similarity, largest=TILE))
    signed = source.similarity == "centred"
    layers, heads = means.shape[:2]
    side = (FULL_WIDTH - 1.0) / max(heads, 6)
    with style():
        figure = framed_figure(
            "Context similarity of every head by token position",
            source.line,
            f"mean {source.similarity} similarity over windows; a scale for each head; each map "
            f"runs from position 0 (top left) to {source.window_tokens - 1}",
            height=0.9 + max(side * layers, 1.0),
        )
        panel = figure.subplots()
        tiles = np.stack([[scaled(matrix, signed=signed) for matrix in row] for row in means])
        image = panel.imshow(
            np.ma.masked_invalid(mosaic(tiles)),
            cmap=mpl.colormaps[DIVERGING if signed else SEQUENTIAL].with_extremes(bad="white"),
            vmin=-1 if signed else 0,
            vmax=1,
            extent=(0.5, heads + 0.5, layers + 0.5, 0.5),
        )
        label_grid(panel, results)
        label = "similarity, on the head's own scale"
        bar = draw_bar(panel, image, label, shrink=min(1.0, 2 / (side * layers)))
        bar.set_ticks([-1, 0, 1] if signed else [0, 1])
        bar.set_ticklabels(["below", "0", "above"] if signed else ["low", "high"], fontsize=SMALL)
        return figure


def scaled(matrix: NDArray[np.float64], *, signed: bool) -> NDArray[np.float64]:
    """The matrix scaled to 0 ... 1, or, if signed, to -1 ... 1 with zero at zero."""
    low, high = value_range(matrix)
    if signed:
        return np.clip(matrix / max(abs(low), abs(high)), -1, 1)
    return np.clip((matrix - low) / (high - low), 0, 1)


def mosaic(tiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """All tiles in one image, with NaN between them. (One image draws faster than 144 panels.)"""
    layers, heads, size, _ = tiles.shape
    gap = max(1, round(size * GAP / 2))
    framed = np.pad(tiles, ((0, 0), (0, 0), (gap, gap), (gap, gap)), constant_values=np.nan)
    step = size + 2 * gap
    return framed.swapaxes(1, 2).reshape(layers * step, heads * step)


HEAD_GRID = RunFigure(
    name="head-grid",
    draw=from_results(head_grid_figure),
    caption="Mean similarity of every head as a small map, each on its own scale.",
    in_report=False,
)
