"""The role of every head: layers by heads."""

import numpy as np
import pandas as pd
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from headscope.findings.roles import ROLES
from headscope.pages.figures.figure import RunFigure, StackFindings
from headscope.pages.figures.layout import NothingToDraw, framed_figure, name_cells
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import style


def roles_figure(table: pd.DataFrame, source: Source) -> Figure:
    """A coloured, lettered cell for every head, with a + where it has more traits.

    Args:
        table: Columns layer, head, role and others.
        source: What the figure was made from.
    """
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
        for layer, head, role, others in table[["layer", "head", "role", "others"]].to_numpy():
            look, row = ROLES[role], layers.index(layer)
            colours[row, head - 1] = to_rgba(look.colour)
            letter = f"{look.letter}+" if others else look.letter
            panel.text(head, row + 1, letter, ha="center", va="center", color=look.ink, fontsize=7)
        panel.imshow(colours, extent=(0.5, heads + 0.5, len(layers) + 0.5, 0.5), aspect="auto")
        name_cells(panel, layers, heads)
        for line in np.arange(0.5, max(heads, len(layers)) + 1):
            panel.axhline(line, color="white", linewidth=1)
            panel.axvline(line, color="white", linewidth=1)
        figure.legend(
            handles=[
                Patch(facecolor=role.colour, label=f"{role.letter}  {role.words} ({number})")
                for role in ROLES
                if (number := counts.get(role.name))
            ],
            title="role (heads); + more traits",
            loc="outside right center",
        )
        return figure


def _draw(findings: StackFindings) -> Figure:
    if findings.roles is None:
        raise NothingToDraw("the roles of the heads are not known")
    return roles_figure(findings.roles, findings.source)


ROLE_MAP = RunFigure(
    name="roles",
    draw=_draw,
    caption="The role of every head: a coloured, lettered cell each; + where it has more traits.",
    in_report=False,
)
