"""The figures of `reach`: excess by distance, how far each head reaches, use against similarity."""

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.colors import BoundaryNorm, LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from headscope.errors import SettingsError
from headscope.findings.reach.result import GROUP, VARIANT, ReachResult
from headscope.findings.reach.use import FAR
from headscope.pages.figures.layout import NothingToDraw, framed_figure, name_cells, settled
from headscope.pages.figures.style import (
    ABSENT,
    EXPECTED,
    ORDERED,
    SEQUENTIAL,
    SMALL,
    VERMILION,
    style,
)
from headscope.pages.figures.write import FORMATS, figure_bytes
from headscope.runs.files import write_whole

_PLAIN = FuncFormatter(lambda value, _: f"{value:,.0f}")
"""Distances as whole numbers."""


def curves_figure(result: ReachResult) -> Figure:
    """Excess similarity by distance, a line per layer; dots where its band lies above zero."""
    chosen = f"variant == '{VARIANT}' and group == '{GROUP}' and comparison == "
    table = result.curves.query(f"{chosen} 'excess'")
    layers = sorted(table["layer"].unique())
    norm = BoundaryNorm(np.arange(len(layers) + 1) - 0.5, 256)
    colours = mpl.colormaps[ORDERED]
    note = "dots: band over all distances above zero"
    figure = framed_figure("Excess similarity by distance", *_lines(result, note), height=3.4)
    panel = figure.subplots()
    for number, layer in enumerate(layers):
        line = table[table["layer"] == layer]
        colour = colours(norm(number))
        panel.plot(line["distance"], line["excess"], color=colour, linewidth=1)
        above = line[line["low"] > 0]
        panel.plot(above["distance"], above["excess"], "o", color=colour, markersize=3)
    untrained = result.curves.query(f"{chosen} 'untrained'").groupby("distance")["excess"].mean()
    if len(untrained):
        panel.plot(untrained.index, untrained, color=EXPECTED, linestyle="--", label="untrained")
        panel.legend(loc="upper right")
    panel.axhline(0, color=EXPECTED, linewidth=0.5)
    panel.set_xscale("log", base=2)
    panel.xaxis.set_major_formatter(_PLAIN)
    panel.set_xlabel("distance, tokens (first of its bin)")
    panel.set_ylabel("intact minus spliced, cosine")
    bar = figure.colorbar(mpl.cm.ScalarMappable(norm, colours), ax=panel, label="layer")
    some = np.linspace(0, len(layers) - 1, min(8, len(layers))).round().astype(int)
    bar.set_ticks(some.tolist(), labels=[str(layers[at]) for at in some])
    return figure


def map_figure(result: ReachResult) -> Figure:
    """How far each head reaches, layers by heads; a ring around retrieval heads."""
    table = result.heads
    layers = sorted(table["layer"].unique())
    heads = int(table["head"].max())
    reach = np.full((len(layers), heads), np.nan)
    back = []
    for row in table.to_dict("records"):
        place = layers.index(row["layer"]), int(row["head"]) - 1
        reach[place] = row["reach"] if row["reaches"] else np.nan
        if row.get("role") == "retrieval":
            back.append(place)
    note = "reach: farthest bin whose band lies above zero; grey: no reach"
    figure = framed_figure(
        "How far the excess of each head reaches",
        *_lines(result, note),
        height=1.8 + 0.16 * len(layers),
    )
    panel = figure.subplots()
    edges = result.evidence.edges
    image = panel.imshow(
        np.ma.masked_invalid(reach),
        cmap=mpl.colormaps[SEQUENTIAL].with_extremes(bad=ABSENT),
        norm=LogNorm(1, edges[-2] if edges[-2] > 1 else 2),
        extent=(0.5, heads + 0.5, len(layers) + 0.5, 0.5),
        aspect="auto",
    )
    name_cells(panel, [int(layer) for layer in layers], heads)
    if back:
        y, x = np.array(back).T + 1
        panel.plot(x, y, "o", markersize=6, markerfacecolor="none", color=VERMILION)
        ring = Line2D([], [], marker="o", linestyle="", markerfacecolor="none", color=VERMILION)
        figure.legend([ring], ["retrieval"], loc="outside upper right", fontsize=SMALL)
    bar = figure.colorbar(image, ax=panel, label="tokens")
    bar.ax.yaxis.set_major_locator(LogLocator(base=4))
    bar.ax.yaxis.set_major_formatter(_PLAIN)
    bar.ax.yaxis.set_minor_locator(NullLocator())
    return figure


def use_figure(result: ReachResult) -> Figure:
    """Far use of context against far excess similarity, a dot per head, coloured by layer."""
    table, agreement = result.heads, result.agreement
    if "far_use" not in table or agreement is None or table["far_use"].isna().all():
        raise NothingToDraw(f"use of context was not measured at {FAR} tokens and more")
    far = np.asarray(result.evidence.edges[:-1]) >= FAR
    excess = result.evidence.differences("excess", VARIANT, GROUP)[:, :, far]
    figure = framed_figure(
        "Use of far context against far similarity, by head",
        *_lines(result, f"means over all distances from {FAR} tokens on"),
        height=3.4,
    )
    panel = figure.subplots()
    dots = panel.scatter(
        np.nanmean(excess, axis=(0, 2)), table["far_use"], c=table["layer"], cmap=ORDERED, s=10
    )
    row = agreement.iloc[-1]
    panel.set_title(
        f"rank agreement {row['agreement']:.2f} "
        f"[{row['agreement_low']:.2f}, {row['agreement_high']:.2f}]",
        loc="left",
    )
    panel.set_xlabel(f"excess similarity at {FAR} tokens and more")
    panel.set_ylabel("share that changes when far context is replaced")
    figure.colorbar(dots, ax=panel, label="layer")
    return figure


FIGURES: dict[str, Callable[[ReachResult], Figure]] = {
    "reach-curves": curves_figure,
    "reach-map": map_figure,
    "reach-use": use_figure,
}
"""The figures of `reach`, by name."""


def draw_reach(name: str, result: ReachResult) -> Figure:
    """A figure of `reach`.

    Args:
        name: Of the figure.
        result: What it is drawn from.
    """
    if name not in FIGURES:
        raise SettingsError(f"figure: {name!r} is unknown; choose from {', '.join(FIGURES)}")
    with style():
        return settled(FIGURES[name](result))


def write_reach_figures(result: ReachResult, folder: Path) -> list[Path]:
    """Write every figure that there is something to show in, in every format.

    Args:
        result: What they are drawn from.
        folder: Where they go.
    """
    written = []
    for name in FIGURES:
        try:
            figure = draw_reach(name, result)
        except NothingToDraw:
            continue
        for kind in FORMATS:
            written.append(folder / f"{name}.{kind}")
            write_whole(written[-1], figure_bytes(figure, kind))
    return written


def _lines(result: ReachResult, note: str) -> list[str]:
    about = result.about
    documents = 2 * result.evidence.units
    source = f"{about['model']}; " if "model" in about else ""
    return [
        f"{source}{documents} documents, windows of {result.evidence.window} tokens",
        "cosine after centring; pairs of different words across the point where texts are spliced; "
        f"{note}",
    ]
