"""A measure over the layers: a line for the layer, a point for each of its heads."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.figures.style import MEASURED

_SPREAD = 0.5
"""Width, in layers, over which the points of a layer are spread, head 1 leftmost."""


def draw_by_layer(
    panel: Axes,
    layers: NDArray[np.int64],
    of_heads: NDArray[np.float64],
    of_layers: NDArray[np.float64],
) -> None:
    """Points of shape (layer, head) and the line of their layers. NaN is left out."""
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
    """A horizontal axis of layers, numbered in whole."""
    panel.set_xlabel("layer")
    panel.set_xlim(layers[0] - 0.6, layers[-1] + 0.6)
    panel.xaxis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))
