"""The figures of `lens` about heads: a map of what guesses lose, and the loss against other traits.

The second needs a run, which knows roles, signal and writes of the same heads.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from headscope.findings.lens.head_table import READINGS
from headscope.findings.roles import ROLES
from headscope.measures.signal import SIGNAL_MEASURES
from headscope.pages.figures.layout import NothingToDraw, framed_figure, name_cells
from headscope.pages.figures.matrices import draw_bar
from headscope.pages.figures.signal import map_of
from headscope.pages.figures.style import ABSENT, SEQUENTIAL, SMALL, VERMILION

AGAINST = ("write_strength", "sentence_snr")
"""What the loss is set against."""
_DECADES = 4
"""Of the colour scale, at most: smaller effects look alike."""


def head_map_figure(table: pd.DataFrame, lines: Sequence[str]) -> Figure:
    """A map of layers by heads for each reading: the divergence of the guess without the head.

    Args:
        table: A row per head, as `hs.lens(..., heads=True).heads` is.
        lines: About the data.
    """
    shown = [
        (stack, reading)
        for stack in table["stack"].unique()
        for reading in READINGS
        if _has_values(table, f"{reading}_kl")
    ]
    if not shown:
        raise NothingToDraw("heads were not switched off")
    layers = sorted(table["layer"].unique().tolist())
    columns = min(2, len(shown))
    rows = -(-len(shown) // columns)
    figure = framed_figure(
        "What a layer's guess loses without a head",
        *lines,
        "KL of the guess of the head's own layer without it from that with it; dots: the loss "
        "increases (5 % false among them)",
        height=0.9 + rows * max(1.6, 0.13 * len(layers) + 0.6),
    )
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    several = table["stack"].nunique() > 1
    for panel, (stack, reading) in zip(panels, shown, strict=False):
        part = table[table["stack"] == stack]
        heads = int(part["head"].max())
        grid = map_of(part, f"{reading}_kl", layers, heads)
        most = float(np.nanmax(grid, initial=1e-12))
        least = max(float(np.nanmin(grid, initial=most)), most / 10**_DECADES)
        least = min(least, most / 10)
        image = panel.imshow(
            np.ma.masked_invalid(np.maximum(grid, least)),
            cmap=mpl.colormaps[SEQUENTIAL].with_extremes(bad=ABSENT),
            norm=LogNorm(least, most),
            extent=(0.5, heads + 0.5, len(layers) + 0.5, 0.5),
            aspect="auto",
        )
        matter = part[part[f"{reading}_matters"]]
        rows_of = [layers.index(layer) + 1 for layer in matter["layer"]]
        panel.plot(matter["head"], rows_of, ".", color=VERMILION, markersize=3)
        name_cells(panel, layers, heads)
        panel.tick_params(labelsize=SMALL)
        name = reading.replace("_", ", ")
        panel.set_title(f"{name}, {stack}" if several else name)
        draw_bar(panel, image, "nats")
    for panel in panels[len(shown) :]:
        panel.set_visible(False)
    return figure


def head_scatter_figure(heads: pd.DataFrame, roles: pd.DataFrame, lines: Sequence[str]) -> Figure:
    """A dot per head: what its layer's guess loses without it, against what else is known of it.

    Args:
        heads: A row per head, as `run.heads` is.
        roles: Its role, as `run.roles` has it.
        lines: About the data.
    """
    readings = [one for one in READINGS if _has_values(heads, f"{one}_kl")]
    against = [one for one in AGAINST if _has_values(heads, one)]
    if not readings or not against:
        raise NothingToDraw("the run has no signal, or its study of the lens no heads")
    readings = [one for one in readings if not one.endswith("unmasked")]
    keys = ["stack", "layer", "head"]
    table = heads.merge(roles[[*keys, "role"]], "left", keys)
    figure = framed_figure(
        "What a layer's guess loses without a head, against what else is known of it",
        *lines,
        "a dot per head; rho: rank correlation over heads",
        height=1.2 + 2.2 * len(readings),
    )
    panels = figure.subplots(len(readings), len(against), squeeze=False)
    for row, reading in zip(panels, readings, strict=True):
        for panel, name in zip(row, against, strict=True):
            known = table[[f"{reading}_kl", name, "role"]].dropna()
            for role, part in known.groupby("role"):
                panel.plot(
                    part[name],
                    part[f"{reading}_kl"],
                    "o",
                    markersize=2.5,
                    markeredgewidth=0,
                    color=ROLES[str(role)].colour,
                )
            if (known[f"{reading}_kl"] > 0).any():
                panel.set_yscale("log")
            if name == "write_strength":
                panel.set_xscale("log")
                panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                panel.xaxis.set_minor_locator(NullLocator())
            rho = known[f"{reading}_kl"].corr(known[name], method="spearman")
            panel.set_title(f"rho {rho:.2f}", loc="left")
            panel.set_xlabel(SIGNAL_MEASURES[name].title)
            panel.set_ylabel(f"{reading}: KL, nats")
    counts = table["role"].value_counts()
    figure.legend(
        [
            Line2D([], [], marker="o", linestyle="", color=role.colour, label=role.words)
            for role in ROLES
            if counts.get(role.name)
        ],
        [role.words for role in ROLES if counts.get(role.name)],
        title="role",
        loc="outside right center",
    )
    return figure


def head_rows(values: Mapping[str, Any]) -> pd.DataFrame:
    """The heads of a result of `lens` as a table, without bounds.

    Args:
        values: As JSON has it.
    """
    rows = []
    for head in values.get("heads", ()):
        row = {name: head[name] for name in ("stack", "layer", "head")}
        for name in READINGS:
            reading, _, group = name.partition("_")
            found = head if reading == "lens" else head.get(reading, {})
            found = found.get(group, {}) if group else found
            if "kl" in found:
                row |= {f"{name}_kl": found["kl"]["value"], f"{name}_matters": found["matters"]}
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else ["stack", "layer", "head"])


def _has_values(table: pd.DataFrame, name: str) -> bool:
    return name in table and bool(table[name].notna().any())
