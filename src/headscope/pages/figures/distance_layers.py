"""How far apart the tokens of pairs lie, layer by layer."""

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.pages.figures.distances import baseline_shares, in_bins, octave_bins, pair_shares
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import framed_figure
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import ORDERED, SMALL, style


def distance_layers_figure(results: xr.Dataset, source: Source) -> Figure:
    """Left: the share of pairs at each distance. Right: that share over the one of all pairs.

    One line per layer, its heads pooled, from dark (first layer) to light (last).
    """
    measured = pair_shares(results["distance_histogram"].sum("head"))
    baseline = baseline_shares(results)
    layers = results["layer"].to_numpy()
    pairs = int(results["distance_histogram"].sum())
    distance = np.arange(1, len(baseline) + 1)
    ends = octave_bins(len(baseline), parts=3)
    colours = mpl.colormaps[ORDERED].resampled(max(len(layers), 2))
    with style():
        figure = framed_figure(
            "Distance between the tokens of high-similarity pairs, by layer",
            source.line,
            f"{source.pair_rule}; {pairs:,} pairs of all heads; "
            "right: three bins for every doubling of the distance",
            height=3.2,
        )
        shares, lift = figure.subplots(1, 2)
        for number in range(len(layers)):
            look = {"color": colours(number), "linewidth": 1.0}
            shares.plot(distance, _drawable(100 * measured[number]), **look)
            times = in_bins(measured[number], ends) / _drawable(in_bins(baseline, ends))
            lift.plot(bin_middles(ends), _drawable(times), marker=".", markersize=3, **look)
        dashes = {"color": "black", "linestyle": "--", "linewidth": 1.0}
        shares.plot(distance, _drawable(100 * baseline), label="all pairs", **dashes)
        lift.axhline(1, label="all pairs", **dashes)
        shares.set_title("how often")
        shares.set_ylabel("share of pairs (% per token)")
        shares.set_yscale("log")
        shares.yaxis.set_major_formatter("{x:g}")
        lift.set_title("compared with all pairs")
        lift.set_ylabel("times the share of all pairs")
        lift.set_xscale("log", base=2)
        lift.set_yscale("log", base=2)
        lift.xaxis.set_major_formatter("{x:g}")
        lift.yaxis.set_major_formatter("{x:g}")
        for panel in (shares, lift):
            panel.set_xlabel("distance (tokens)")
            panel.legend(loc="upper right")
        norm = BoundaryNorm(np.arange(len(layers) + 1) - 0.5, max(len(layers), 2))
        bar = figure.colorbar(ScalarMappable(norm, colours), ax=[shares, lift], pad=0.02)
        every = max(1, len(layers) // 12)
        bar.set_ticks(range(0, len(layers), every), labels=[str(n) for n in layers[::every]])
        bar.ax.minorticks_off()
        bar.ax.tick_params(labelsize=SMALL, length=0)
        bar.set_label("layer")
        return figure


def bin_middles(ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """The geometric middle of the distances of each bin."""
    return np.asarray(np.sqrt(np.concatenate([[1], ends[:-1] + 1]) * ends))


def _drawable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """NaN for zero, which no logarithmic axis can show."""
    return np.where(values > 0, values, np.nan)


DISTANCE_LAYERS = RunFigure(
    name="distance-layers",
    draw=from_results(distance_layers_figure),
    caption="How far apart the tokens of a pair lie, by layer, against all pairs.",
    section="Distance",
)
