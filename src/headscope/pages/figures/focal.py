"""Focal tokens: how many different ones the heads of a layer choose, and of which kind."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import NothingToDraw, framed_figure
from headscope.pages.figures.matrices import draw_bar
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import DIVERGING, PAPER, SEQUENTIAL, SMALL, style
from headscope.text.kinds import SPECIAL_KINDS, TokenKind

PAPER_HEADS, PAPER_DISTINCT = 12, (9, 10)
"""The paper: about 9 to 10 distinct focal tokens over the 12 heads of a layer."""

_KINDS = [kind for kind in TokenKind if kind not in SPECIAL_KINDS]
_LARGEST_FACTOR = 3.0
"""log2 of the factor at which the colours end: 8 times, and an eighth."""


def focal_figure(results: xr.Dataset, source: Source) -> Figure:
    """Left: the distribution of the number of distinct focal tokens. Right: their kinds.

    A head's focal token is the one that its pairs gather around in a window. The kinds are shown as
    shares of the focal tokens; the colour compares them with the shares of all tokens.
    """
    layers = results["layer"].to_numpy().tolist()
    with style():
        figure = framed_figure(
            "Focal tokens: how many differ within a layer, and of which kind they are",
            source.line,
            f"{source.pair_rule}; left: share of windows; right: number = share of focal tokens "
            "(%), colour = that share over the share of all tokens (bottom row, %)",
            height=max(2.4, 1.3 + 0.2 * len(layers)),
        )
        number, kinds = figure.subplots(1, 2, width_ratios=(1, 1.1))
        _draw_distinct(number, results, layers)
        _draw_kinds(kinds, results, layers)
        return figure


def _draw_distinct(panel: Axes, results: xr.Dataset, layers: list[int]) -> None:
    shares = distinct_shares(results)
    rows, most = len(layers), shares.shape[1]
    image = panel.imshow(
        np.ma.masked_invalid(shares),
        cmap=SEQUENTIAL,
        vmin=0,
        vmax=np.nanmax(shares),
        aspect="auto",
        extent=(0.5, most + 0.5, rows + 0.5, 0.5),
    )
    means = (shares * np.arange(1, most + 1)).sum(1)
    panel.plot(
        means, np.arange(1, rows + 1), color="white", marker="o", markersize=3, linewidth=1.2,
        markeredgecolor="black", markeredgewidth=0.5, label="mean",
    )  # fmt: skip
    if results.sizes["head"] == PAPER_HEADS:
        low, high = PAPER_DISTINCT
        for edge in (low - 0.5, high + 0.5):
            panel.axvline(edge, color=PAPER, linewidth=1.2, linestyle=(0, (4, 2)))
        panel.set_title("between the dashed lines: the paper's 9 to 10", color=PAPER)
    panel.set_xlabel(f"distinct focal tokens in a window (of {results.sizes['head']} heads)")
    panel.set_ylabel("layer")
    panel.set_xticks(np.arange(1, most + 1, max(1, most // 12)))
    panel.set_yticks(np.arange(1, rows + 1), [str(layer) for layer in layers])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    draw_bar(panel, image, "share of windows", aspect=30)


def distinct_shares(results: xr.Dataset) -> NDArray[np.float64]:
    """Per layer, the share of the windows with 1, 2, 3, ... distinct focal tokens.

    Windows without pairs have none and are not counted.
    """
    windows = results["distinct_focal_tokens"].to_numpy()[:, 1:]
    total = windows.sum(1, keepdims=True)
    if not total.any():
        raise NothingToDraw("no head has a focal token: no window has high-similarity pairs")
    return np.asarray(windows / np.where(total > 0, total, np.nan))


def _draw_kinds(panel: Axes, results: xr.Dataset, layers: list[int]) -> None:
    focal, tokens = kind_shares(results)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.log2(focal / tokens)
    shown = np.vstack([np.clip(factor, -_LARGEST_FACTOR, _LARGEST_FACTOR), 0 * tokens])
    rows = len(layers) + 1
    image = panel.imshow(
        np.ma.masked_invalid(shown),
        cmap=DIVERGING,
        vmin=-_LARGEST_FACTOR,
        vmax=_LARGEST_FACTOR,
        aspect="auto",
        extent=(0.5, len(_KINDS) + 0.5, rows + 0.5, 0.5),
    )
    numbers = np.vstack([focal, tokens])
    for row, column in np.ndindex(numbers.shape):
        if np.isnan(numbers[row, column]):
            continue
        dark = abs(np.nan_to_num(shown[row, column])) > 0.5 * _LARGEST_FACTOR
        panel.text(
            column + 1, row + 1, f"{100 * numbers[row, column]:.0f}",
            ha="center", va="center", fontsize=SMALL, color="white" if dark else "black",
        )  # fmt: skip
    panel.axhline(rows - 0.5, color="black", linewidth=0.7)
    names = [kind.name.lower() for kind in _KINDS]
    panel.set_xticks(np.arange(1, len(_KINDS) + 1), names, rotation=35, ha="right")
    panel.set_yticks(np.arange(1, rows + 1), [*map(str, layers), "all tokens"])
    panel.set_xlabel("kind of token")
    panel.set_ylabel("layer")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    bar = draw_bar(panel, image, "times the share of all tokens", aspect=30)
    bar.set_ticks([-3, -2, -1, 0, 1, 2, 3], labels=["⅛", "¼", "½", "1", "2", "4", "8"])


def kind_shares(results: xr.Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of the kinds: among the focal tokens of each layer, and among all tokens."""
    focal = results["focal_kinds"].sum("head").to_numpy()[:, _KINDS]
    tokens = results["token_kinds"].to_numpy()[_KINDS]
    total = focal.sum(1, keepdims=True)
    return focal / np.where(total > 0, total, np.nan), tokens / tokens.sum()


FOCAL = RunFigure(
    name="focal",
    draw=from_results(focal_figure),
    caption="Distinct focal tokens of a layer, and what kinds of tokens heads choose.",
    section="Focal tokens",
)
