"""A model while it trains: loss, layers' guesses, quantities and roles over training steps."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headscope.findings.depth import PARTS
from headscope.findings.learning import decades
from headscope.findings.roles import ROLES
from headscope.pages.figures.layout import draw_with_interval
from headscope.pages.figures.style import DEPTHS, EXPECTED, FULL_WIDTH, SMALL, style

_LINES = {"all": "black", **dict(zip(PARTS, DEPTHS, strict=True))}
"""The colour of each part of the layers."""
_COLUMNS = 3
_ROW_HEIGHT = 1.75
_ROLES = {f"role_{role.name}": role for role in ROLES}
_WIDEST_LABEL = 0.105
"""As a share of the axis; steps that are closer to each other have one label."""


def compare_steps_figure(
    training: pd.DataFrame, fastest: pd.DataFrame, titles: Mapping[str, str]
) -> Figure:
    """A panel for each quantity that was measured, and one for all roles; stacks one by one.

    Bands are 95 % intervals. Where a quantity clearly changes fastest, its line is thick.

    Args:
        training: Of a `Comparison`.
        fastest: Of the same.
        titles: Of each quantity.
    """
    stacks = list(training["stack"].unique())
    panels = [
        (stack, name) for stack in stacks for name in [*_measured(training, stack, titles), "roles"]
    ]
    rows = -(-(len(panels) + 1) // _COLUMNS)  # one more for the legend
    with style():
        figure = Figure(figsize=(FULL_WIDTH, _ROW_HEIGHT * rows), layout="constrained")
        axes = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for panel, (stack, name) in zip(axes, panels, strict=False):
            of_stack = training[training["stack"] == stack]
            clear = fastest[(fastest["stack"] == stack) & fastest["clear"].astype(bool)]
            if name == "roles":
                _draw_roles(panel, of_stack, clear)
                title = "heads by role\n(number of heads)"
            else:
                _draw_parts(panel, *(t[t["quantity"] == name] for t in (of_stack, clear)))
                title = titles[name]
            panel.set_title(title if len(stacks) == 1 else f"{stack}: {title}")
            _label_steps(panel, sorted(set(of_stack["step"].tolist())))
        for panel in axes[len(panels) :]:
            panel.axis("off")
        _draw_legend(axes[len(panels)], training)
        return figure


def _measured(training: pd.DataFrame, stack: str, titles: Mapping[str, str]) -> list[str]:
    there = set(training.loc[training["stack"] == stack, "quantity"])
    return [name for name in titles if name in there and name not in _ROLES]


def _draw_parts(panel: Axes, lines: pd.DataFrame, clear: pd.DataFrame) -> None:
    for part, colour in _LINES.items():
        line = lines[lines["part"] == part]
        if len(line):
            _draw(panel, line, clear[clear["part"] == part], colour, part)
    if (lines["low"] < 0).any():
        panel.axhline(0, color=EXPECTED, linewidth=0.5)


def _draw_roles(panel: Axes, training: pd.DataFrame, clear: pd.DataFrame) -> None:
    for name, role in _ROLES.items():
        line = training[training["quantity"] == name]
        if (line["value"] > 0).any():
            line = line.assign(low=line["low"].clip(lower=0))
            _draw(panel, line, clear[clear["quantity"] == name], role.colour, role.words)


def _draw(panel: Axes, line: pd.DataFrame, clear: pd.DataFrame, colour: str, label: str) -> None:
    line = line.sort_values("step")
    places = line.assign(place=decades(line["step"].tolist()))
    draw_with_interval(
        panel, places, "place", color=colour, marker="o", markersize=2.2, label=label, linewidth=1
    )
    for change in clear.itertuples():
        fast = places[places["step"].isin([change.from_step, change.to_step])]
        panel.plot(fast["place"], fast["value"], color=colour, linewidth=3, label="_fastest")


def _label_steps(panel: Axes, steps: Sequence[int]) -> None:
    # Most changes come early in training, and step 0 has no logarithm.
    places = decades(steps)
    panel.set_xlim(-0.1, places[-1] + 0.1)
    labels: list[str] = []
    last = np.inf
    for place, step in zip(places[::-1], list(steps)[::-1], strict=True):
        apart = last - place >= _WIDEST_LABEL * places[-1]
        labels.append(f"{step:g}" if apart else "")
        last = place if labels[-1] else last
    panel.set_xticks(places, labels[::-1], fontsize=SMALL)
    panel.set_xlabel("training step", fontsize=SMALL)


def _draw_legend(panel: Axes, training: pd.DataFrame) -> None:
    """The meaning of lines, once for all panels."""
    parts = {part: f"{part} third of the layers" for part in PARTS} | {"all": "the whole model"}
    of_quantities = training[~training["quantity"].isin(list(_ROLES))]
    there = set(of_quantities["part"])
    handles = [
        Line2D([], [], color=_LINES[part], marker="o", markersize=2.2, label=words)
        for part, words in parts.items()
        if part in there
    ]
    handles.append(Line2D([], [], color=EXPECTED, linewidth=3, label="changes fastest here"))
    roles = training[training["value"] > 0]["quantity"].unique()
    handles += [
        Line2D([], [], color=role.colour, marker="s", linestyle="", label=f"role: {role.words}")
        for name, role in _ROLES.items()
        if name in roles
    ]
    panel.legend(handles=handles, loc="center left", borderaxespad=0)
