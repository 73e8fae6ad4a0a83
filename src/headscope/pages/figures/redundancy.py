"""Redundancy within a model: CKA between heads, and how well others reconstruct each write."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.pages.figures.figure import RunFigure, StackFindings
from headscope.pages.figures.layout import NothingToDraw, framed_figure, name_cells
from headscope.pages.figures.matrices import draw_bar
from headscope.pages.figures.signal import map_of
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import ABSENT, SEQUENTIAL, SMALL, style


def redundancy_figure(cka: pd.DataFrame, heads_table: pd.DataFrame, source: Source) -> Figure:
    """The matrix of CKA, layer after layer, beside the map of R².

    Args:
        cka: Square, labelled by (layer, head) on both sides.
        heads_table: Columns layer, head and reconstruction.
        source: What the figure was made from.
    """
    layers = sorted(heads_table["layer"].unique().tolist())
    heads = int(heads_table["head"].max())
    with style():
        figure = framed_figure(
            "Redundancy within the model",
            source.line,
            "over a sample of these windows. This is no order for pruning: heads that say the "
            "same can all be needed, since what they write adds up",
            height=3.6,
        )
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        colours = mpl.colormaps[SEQUENTIAL].with_extremes(bad=ABSENT)
        size = len(cka)
        image = left.imshow(
            np.ma.masked_invalid(np.clip(cka.to_numpy(), 0, 1)), cmap=colours, vmin=0, vmax=1
        )
        numbers = cka.index.get_level_values("layer").to_numpy()
        begins = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
        ends = np.append(begins[1:], size)
        middle = (begins + ends - 1) / 2
        every = max(1, len(layers) // 12)
        for axis in (left.xaxis, left.yaxis):
            axis.set_ticks(middle[::every], [str(layer) for layer in numbers[begins][::every]])
        for edge in begins[1:] - 0.5:
            left.axhline(edge, color="white", linewidth=0.4)
            left.axvline(edge, color="white", linewidth=0.4)
        left.tick_params(length=0, labelsize=SMALL)
        left.spines[:].set_visible(False)
        left.set_xlabel("heads, by layer")
        left.set_ylabel("heads, by layer")
        left.set_title("debiased CKA between heads")
        draw_bar(left, image, "CKA", shrink=0.8)
        grid = map_of(heads_table, "reconstruction", layers, heads)
        image = right.imshow(
            np.ma.masked_invalid(np.maximum(grid, 0)),
            cmap=colours,
            vmin=0,
            vmax=1,
            extent=(0.5, heads + 0.5, len(layers) + 0.5, 0.5),
            aspect="auto",
        )
        name_cells(right, layers, heads)
        right.tick_params(labelsize=SMALL)
        right.set_title("write explained by the layer's other heads")
        draw_bar(right, image, "R² on other documents")
        return figure


def _draw(findings: StackFindings) -> Figure:
    if findings.redundancy is None or findings.signal is None:
        raise NothingToDraw("heads were not compared with each other in this run")
    return redundancy_figure(findings.redundancy, findings.signal, findings.source)


REDUNDANCY = RunFigure(
    name="redundancy",
    draw=_draw,
    caption="Debiased CKA between all heads, and how much of each head's write the other heads of "
    "its layer explain on other documents. It is no order for pruning.",
)
