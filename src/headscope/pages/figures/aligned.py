"""Mean context similarity around sentence boundaries, at three depths."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.findings.depth import three_depths
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import NothingToDraw, framed_figure
from headscope.pages.figures.matrices import draw_matrix, mean_aligned
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import style


def aligned_figure(results: xr.Dataset, source: Source) -> Figure:
    """A column per depth: above, the mean over boundaries and heads; below, without distance.

    Offset 0 is the first token of the later sentence. The blocks along the diagonal lie within
    sentences, the others across the boundary. In the lower row the mean of all cells at the same
    distance is subtracted: what is left is due to the boundary.
    """
    boundaries = int(results["aligned_count"].max())
    if boundaries == 0:
        raise NothingToDraw("no window has a boundary between two sentences")
    layers = three_depths(results["layer"].to_numpy().tolist())
    means = mean_aligned(results.sel(layer=layers)).mean("head")
    offsets = results["offset"].to_numpy()
    first, last = offsets[0] - 0.5, offsets[-1] + 0.5
    with style():
        figure = framed_figure(
            "Context similarity around sentence boundaries",
            source.line,
            f"mean over {boundaries:,} boundaries and all heads, {source.similarity} similarity; "
            "lines: the boundary; a colour scale for each panel",
            height=4.7,
        )
        panels = figure.subplots(2, len(layers), sharex=True, sharey=True, squeeze=False)
        for column, layer in enumerate(layers):
            mean = np.asarray(means.sel(layer=layer))
            for row, matrix in enumerate((mean, without_distance(mean))):
                panel = panels[row, column]
                draw_matrix(
                    panel,
                    matrix,
                    (first, last, last, first),
                    signed=row == 1 or source.similarity == "centred",
                    label=_LABELS[row] if column == len(layers) - 1 else "",
                    tail=_TAIL,
                )
                panel.axhline(-0.5, color="black", linewidth=0.7)
                panel.axvline(-0.5, color="black", linewidth=0.7)
            panels[0, column].set_title(f"layer {layer}")
            panels[1, column].set_xlabel("offset (tokens)")
        panels[0, 0].set_ylabel("mean\noffset from boundary (tokens)")
        panels[1, 0].set_ylabel("minus mean at distance\noffset from boundary (tokens)")
        return figure


_LABELS = ("mean similarity", "similarity minus mean at distance")
_TAIL = 6.0
"""Per cent at each end of the colour scale: enough to cover the row and the column of the full stop
before the boundary, which would otherwise take all the colours."""


def without_distance(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix minus, in each cell, the mean of all cells at the same distance."""
    rows, columns = np.indices(matrix.shape)
    distance = np.abs(rows - columns)
    there = ~np.isnan(matrix)
    counts = np.bincount(distance[there], minlength=len(matrix))
    sums = np.bincount(distance[there], weights=matrix[there], minlength=len(matrix))
    means = sums / np.maximum(counts, 1)
    return np.asarray(matrix - means[distance])


ALIGNED = RunFigure(
    name="aligned",
    draw=from_results(aligned_figure),
    caption="Mean similarity around sentence boundaries: the blocks are sentences.",
)
