"""The progression over the layers: range, sentences, repetition, separators, focal tokens."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from headscope.measures.tables import layer_table
from headscope.pages.figures.figure import RunFigure
from headscope.pages.figures.style import EXPECTED, MEASURED, style

_KEYS = (
    Line2D([], [], color=MEASURED, marker="o", markersize=3, label="measured"),
    Line2D([], [], color=EXPECTED, linestyle="--", label="all pairs at the same distances"),
    Line2D([], [], color=EXPECTED, linestyle=":", linewidth=0.8, label="number of heads"),
)


def layers_figure(layers: pd.DataFrame, title: str) -> Figure:
    """Five panels over the layers of one stack; dashed lines show what is expected."""
    with style():
        figure = Figure(figsize=(10, 2.8), layout="constrained")
        panels = figure.subplots(1, 5)
        _line(panels[0], layers, "mean_distance", "mean pair distance (tokens)")
        _line(panels[1], layers, "same_sentence", "pairs in one sentence")
        _line(panels[2], layers, "repetition", "pairs of one token twice")
        _line(panels[3], layers, "separator_attention", "attention on . ! ?")
        _line(panels[4], layers, "distinct_focal_tokens", "distinct focal tokens")
        panels[4].axhline(layers["heads"].max(), color=EXPECTED, linewidth=0.8, linestyle=":")
        figure.suptitle(title, fontsize=9)
        figure.legend(handles=_KEYS, loc="outside lower center", ncols=3, fontsize=7)
        return figure


def _line(panel: Axes, layers: pd.DataFrame, measure: str, title: str) -> None:
    panel.plot(layers["layer"], layers[measure], color=MEASURED, marker="o", markersize=3)
    expected = f"{measure}_expected"
    if expected in layers:
        panel.plot(layers["layer"], layers[expected], color=EXPECTED, linestyle="--")
    panel.set_title(title)
    panel.set_xlabel("layer")
    panel.set_ylim(bottom=0)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))


LAYERS = RunFigure(
    name="layers",
    draw=lambda findings: layers_figure(layer_table(findings.results), findings.source.line),
    caption=(
        "Five measures over the layers. Dashed: what all pairs of the same windows give at "
        "the same distances; dotted: the number of heads."
    ),
    section="Layer by layer",
)
