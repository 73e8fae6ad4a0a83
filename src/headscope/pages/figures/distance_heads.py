"""How far apart the tokens of a head's pairs lie: one histogram per head."""

import numpy as np
import xarray as xr
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from headscope.pages.figures.distances import baseline_shares, in_bins, octave_bins, pair_shares
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import framed_figure, label_grid
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import GREY, MEASURED, SMALL, style

_WIDTH, _HEIGHT = 0.84, 0.68
"""Of the histogram, as shares of its cell."""
_FLOOR = 0.42
"""From the middle of a cell down to the foot of its histogram."""


def distance_heads_figure(results: xr.Dataset, source: Source) -> Figure:
    """A cell per head: its pairs by distance, in front of the histogram of all pairs.

    One bar per octave: distance 1, 2, 3 to 4, 5 to 8, ... Each cell is as high as its largest bar;
    the grey histogram is the same in all cells and gives the scale.
    """
    longest = results.sizes["distance"] - 1
    ends = octave_bins(longest)
    measured = in_bins(pair_shares(results["distance_histogram"]), ends)
    baseline = in_bins(baseline_shares(results), ends)
    layers, heads = measured.shape[:2]
    with style():
        figure = framed_figure(
            "Distance between the tokens of high-similarity pairs, by head",
            source.line,
            f"{source.pair_rule}; number: mean distance (tokens)",
            f"bars: share of pairs at distance {_bin_names(ends)} tokens; "
            "height: the cell's largest bar",
            height=1.2 + 0.46 * layers,
        )
        panel = figure.subplots()
        own, grey = [], []
        for row, column in np.ndindex(layers, heads):
            shares = measured[row, column]
            if np.isnan(shares).all():
                continue
            peak = max(shares.max(), baseline.max())
            own.append(_outline(shares / peak, row, column))
            grey.append(_outline(baseline / peak, row, column))
            panel.text(
                column + 1 - _WIDTH / 2,
                row + 1 - 0.36,
                f"{float(results['mean_distance'][row, column]):.0f}",
                fontsize=SMALL - 1,
                color="#444444",
                va="center",
            )
        panel.add_collection(PolyCollection(grey, facecolor=GREY, edgecolor="none"))
        panel.add_collection(
            PolyCollection(own, facecolor=to_rgba(MEASURED, 0.3), edgecolor=MEASURED, linewidth=0.7)
        )
        label_grid(panel, results)
        panel.legend(
            handles=[
                Patch(facecolor=to_rgba(MEASURED, 0.3), edgecolor=MEASURED, label="head's pairs"),
                Patch(facecolor=GREY, label="all pairs"),
            ],
            loc="lower right",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.2,
            ncols=2,
        )
        return figure


def _bin_names(ends: NDArray[np.int64]) -> str:
    starts = np.concatenate([[1], ends[:-1] + 1])
    names = [
        str(end) if start == end else f"{start}–{end}"  # noqa: RUF001
        for start, end in zip(starts, ends, strict=True)
    ]
    return ", ".join(names)


def _outline(bars: NDArray[np.float64], row: int, column: int) -> NDArray[np.float64]:
    """The corners of a histogram, heights 0 ... 1, inside its cell."""
    edges = np.linspace(-_WIDTH / 2, _WIDTH / 2, len(bars) + 1)
    heights = np.concatenate([[0.0], np.repeat(bars, 2), [0.0]])
    return np.column_stack([column + 1 + np.repeat(edges, 2), row + 1 + _FLOOR - _HEIGHT * heights])


DISTANCE_HEADS = RunFigure(
    name="distance-heads",
    draw=from_results(distance_heads_figure),
    caption="How far apart the tokens of a pair lie: a histogram for each head, against all pairs.",
    in_report=False,
)
