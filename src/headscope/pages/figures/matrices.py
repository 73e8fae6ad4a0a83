"""Mean matrices of heads, and how a matrix becomes an image."""

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from headscope.pages.figures.style import ABSENT, DIVERGING, SEQUENTIAL, SMALL
from headscope.pages.value_range import TAIL, value_range
from headscope.settings import SimilarityVariant


def mean_similarity(
    results: xr.Dataset, variant: SimilarityVariant, largest: int | None = None
) -> xr.DataArray:
    """The mean of C for every layer and head, by the positions of the two tokens.

    NaN at positions where no window has two tokens, and for heads that a layer does not have. With
    `largest`, neighbouring positions are pooled until at most that many are left on a side.
    """
    sums = results["similarity_sum"].sel(variant=variant)
    counts = results["position_count"]
    block = -(-counts.sizes["position"] // largest) if largest else 1
    if block > 1:
        blocks = {"position": block, "other_position": block}
        sums = sums.coarsen(blocks, boundary="pad").sum()
        counts = counts.coarsen(blocks, boundary="pad").sum()
    return _mean(results, sums, counts)


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


def colour_scale(values: NDArray[np.float64], *, signed: bool, tail: float = TAIL) -> ColourScale:
    """A scale that fits the values; a signed one is white at zero."""
    colours = mpl.colormaps[DIVERGING if signed else SEQUENTIAL].with_extremes(bad=ABSENT)
    low, high = value_range(values, tail)
    if signed:
        high = max(abs(low), abs(high))
        low = -high
    return ColourScale(colours, low, high)


def draw_matrix(
    panel: Axes,
    matrix: NDArray[np.float64],
    extent: tuple[float, float, float, float],
    *,
    signed: bool,
    label: str,
    tail: float = TAIL,
) -> AxesImage:
    """The matrix as an image with a colour bar of its own, rows from the top.

    The pointed ends of the bar mean that some cells lie beyond them.
    """
    scale = colour_scale(matrix, signed=signed, tail=tail)
    image = panel.imshow(
        np.ma.masked_invalid(matrix),
        cmap=scale.colours,
        vmin=scale.low,
        vmax=scale.high,
        extent=extent,
    )
    panel.spines[:].set_visible(False)
    bar = draw_bar(panel, image, label, shrink=0.8, aspect=22, extend="both")
    bar.ax.yaxis.set_major_locator(MaxNLocator(4))
    return image


def draw_bar(panel: Axes, image: AxesImage, label: str, **look: Any) -> Colorbar:
    """The colour bar of an image, small and without a frame."""
    figure = panel.get_figure(root=True)
    assert figure is not None
    bar = figure.colorbar(image, ax=panel, pad=0.02, **look)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL, length=2)
    bar.set_label(label, fontsize=SMALL)
    return bar
