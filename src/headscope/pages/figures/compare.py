"""Models side by side over relative depth, a panel for each quantity."""

from collections.abc import Mapping
from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure

from headscope.pages.figures.layout import draw_with_interval
from headscope.pages.figures.style import (
    BLUE,
    EXPECTED,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    style,
)

# Without yellow, which is too light for a line.
_COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "black")
_LINES = {"encoder": "-", "decoder": "-.", "cross": ":"}
_MARKERS = {"encoder": "o", "decoder": "s", "cross": "^"}


def compare_figure(curves: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """A panel for each of `titles`; `curves` is that of a `Comparison`.

    A colour for each run, a line style for each stack; untrained models are thin and unmarked.
    Bands are 95 % intervals.
    """
    colours = dict(zip(curves["run"].unique(), cycle(_COLOURS), strict=False))
    with style():
        figure = Figure(figsize=(10, 5.6), layout="constrained")
        panels = figure.subplots(2, -(-len(titles) // 2), squeeze=False).ravel()
        for panel, (quantity, title) in zip(panels, titles.items(), strict=False):
            of_quantity = curves[curves["quantity"] == quantity]
            for name, line in of_quantity.groupby("name", sort=False):
                first = line.iloc[0]
                untrained = first["seeds"] > 0
                draw_with_interval(
                    panel,
                    line,
                    "depth",
                    color=colours[first["run"]],
                    linestyle=(0, (1, 1)) if untrained else _LINES.get(first["stack"], "-"),
                    linewidth=0.9 if untrained else 1.4,
                    marker="" if untrained else _MARKERS.get(first["stack"], "o"),
                    markersize=3,
                    label=str(name),
                )
            panel.set_title(title)
            panel.set_xlim(0, 1.02)
            panel.axhline(0, color=EXPECTED, linewidth=0.5)
        for panel in panels[len(titles) :]:
            panel.set_visible(False)
        for panel in panels[len(panels) // 2 :]:
            panel.set_xlabel("relative depth (layer / layers)")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
        return figure
