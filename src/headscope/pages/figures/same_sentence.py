"""Whether pairs prefer one sentence, beyond what their distance explains."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.measures.tables import layer_table
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import (
    NothingToDraw,
    draw_by_layer,
    framed_figure,
    label_layers,
)
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import EXPECTED, GREY, MEASURED, style


def same_sentence_figure(results: xr.Dataset, source: Source) -> Figure:
    """Left: the rate and its expectation at equal distance. Right: their difference by head.

    The band holds 95 % of a layer's differences after the sentences of every window were permuted.
    """
    layers = results["layer"].to_numpy()
    table = layer_table(results)
    rate, expected = table["same_sentence"].to_numpy(), table["same_sentence_expected"].to_numpy()
    if np.isnan(rate).all():
        raise NothingToDraw("no head has pairs whose sentences are known")
    difference = results["same_sentence"] - results["same_sentence_expected"]
    with style():
        figure = framed_figure(
            "High-similarity pairs inside one sentence",
            source.line,
            f"{source.pair_rule}; expected: all pairs of the same window at the same distances",
            height=2.8,
        )
        rates, excess = figure.subplots(1, 2)
        rates.plot(layers, rate, color=MEASURED, marker="D", markersize=3.5, label="measured")
        rates.plot(layers, expected, color=EXPECTED, linestyle="--", label="expected")
        rates.set_ylim(0, 1)
        rates.set_ylabel("share of pairs in one sentence")
        rates.legend(loc="upper right")
        label_layers(rates, layers)
        excess.axhline(0, color=EXPECTED, linestyle="--")
        if results.sizes.get("permutation", 0):
            low, high = permuted_band(results)
            excess.fill_between(
                layers, low, high, color=GREY, alpha=0.7, linewidth=0, label="sentences permuted"
            )
        draw_by_layer(excess, layers, np.asarray(difference), rate - expected)
        excess.set_ylabel("excess over expected (share)")
        excess.legend(loc="best")
        return figure


def permuted_band(results: xr.Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The range that holds 95 % of the differences of a layer when sentences are permuted."""
    permuted = results["same_sentence_permuted"].sum("head")
    expected = results["total_same_sentence_expected"].sum("head")
    pairs = results["total_pairs"].sum("head")
    difference = np.asarray((permuted - expected) / pairs.where(pairs > 0))
    low, high = np.quantile(difference, (0.025, 0.975), axis=1)
    return low, high


SAME_SENTENCE_BY_LAYER = RunFigure(
    name="same-sentence",
    draw=from_results(same_sentence_figure),
    caption="Pairs inside one sentence, compared with all pairs at the same distances.",
    section="Same sentence",
)
