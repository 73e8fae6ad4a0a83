"""Mean matrices of heads, and how a matrix becomes an image."""

from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.figures.style import ABSENT, DIVERGING, SEQUENTIAL, SMALL
from headscope.settings import SimilarityVariant

_TAIL = 1.0
"""Per cent of the cells at each end of a colour scale that share its last colour: one outlier
would otherwise leave all else in one colour."""


def mean_similarity(results: xr.Dataset, variant: SimilarityVariant) -> xr.DataArray:
    """The mean of C for every layer and head, by the positions of the two tokens.

    NaN at positions where no text has two tokens, and for heads that a layer does not have.
    """
    sums = results["similarity_sum"].sel(variant=variant)
    return _mean(results, sums, results["position_count"])


def mean_aligned(results: xr.Dataset) -> xr.DataArray:
    """The mean of C around sentence boundaries, for every layer and head."""
    return _mean(results, results["aligned_sum"], results["aligned_count"])


def _mean(results: xr.Dataset, sums: xr.DataArray, counts: xr.DataArray) -> xr.DataArray:
    return sums.where(results["total_texts"] > 0) / counts.where(counts > 0)


@dataclass(frozen=True, slots=True)
class ColourScale:
    """Which number has which colour."""

    colours: Colormap
    low: float
    high: float


def colour_scale(values: NDArray[np.float64], *, signed: bool) -> ColourScale:
    """A scale that fits the values; a signed one has its white at zero."""
    colours = mpl.colormaps[DIVERGING if signed else SEQUENTIAL].with_extremes(bad=ABSENT)
    low, high = value_range(values)
    if signed:
        high = max(abs(low), abs(high))
        low = -high
    return ColourScale(colours, low, high)


def value_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """The smallest and the largest of the values, tails aside; never one number twice."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = map(float, np.percentile(finite, (_TAIL, 100 - _TAIL)))
    return (low, high) if high > low else (low, low + 1.0)


def draw_matrix(
    panel: Axes,
    matrix: NDArray[np.float64],
    extent: tuple[float, float, float, float],
    *,
    signed: bool,
    label: str,
) -> AxesImage:
    """The matrix as an image with a colour bar of its own, rows from the top."""
    scale = colour_scale(matrix, signed=signed)
    image = panel.imshow(
        np.ma.masked_invalid(matrix),
        cmap=scale.colours,
        vmin=scale.low,
        vmax=scale.high,
        extent=extent,
    )
    panel.spines[:].set_visible(False)
    figure = panel.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(image, ax=panel, shrink=0.8, aspect=22, pad=0.03)
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.ax.tick_params(labelsize=SMALL, length=2)
    bar.ax.yaxis.set_major_locator(MaxNLocator(4))
    bar.set_label(label, fontsize=SMALL)
    return image
