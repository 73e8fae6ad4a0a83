"""The role of every head: layers by heads."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from headscope.figures.frame import framed_figure
from headscope.figures.grid import name_cells
from headscope.figures.source import Source
from headscope.figures.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    style,
)


@dataclass(frozen=True, slots=True)
class _Look:
    """How a role is shown: colour and letter, so that colour is not needed to tell roles apart."""

    letter: str
    colour: str
    ink: str = "black"


ROLE_LOOKS = {
    "repetition": _Look("R", VERMILION, "white"),
    "local": _Look("L", SKY),
    "sentence-block": _Look("S", GREEN, "white"),
    "separator": _Look("P", PURPLE),
    "common-token": _Look("C", ORANGE),
    "broad": _Look("B", BLUE, "white"),
    "mixed": _Look("M", GREY),
}
_OTHER = _Look("?", "#FFFFFF")


def roles_figure(table: pd.DataFrame, source: Source) -> Figure:
    """A coloured, lettered cell for every head; `table` has columns layer, head and role."""
    layers, heads = sorted(table["layer"].unique().tolist()), int(table["head"].max())
    colours = np.ones((len(layers), heads, 4))
    counts = table["role"].value_counts()
    with style():
        figure = framed_figure(
            "The role of every head",
            source.line,
            f"{source.similarity} similarity; {source.pair_rule}",
            height=max(2.0, 1.0 + 0.24 * len(layers)),
        )
        panel = figure.subplots()
        for layer, head, role in zip(table["layer"], table["head"], table["role"], strict=True):
            look, row = ROLE_LOOKS.get(role, _OTHER), layers.index(layer)
            colours[row, head - 1] = to_rgba(look.colour)
            panel.text(
                head, row + 1, look.letter, ha="center", va="center", color=look.ink, fontsize=7
            )
        panel.imshow(colours, extent=(0.5, heads + 0.5, len(layers) + 0.5, 0.5), aspect="auto")
        name_cells(panel, layers, heads)
        for line in np.arange(0.5, max(heads, len(layers)) + 1):
            panel.axhline(line, color="white", linewidth=1)
            panel.axvline(line, color="white", linewidth=1)
        figure.legend(
            handles=[
                Patch(facecolor=look.colour, label=f"{look.letter}  {role} ({counts[role]})")
                for role, look in ROLE_LOOKS.items()
                if role in counts
            ],
            title="role (heads)",
            loc="outside right center",
        )
        return figure
