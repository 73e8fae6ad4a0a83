"""One model while it trains: quantities and roles over training steps."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headscope.findings.depth import PARTS
from headscope.findings.roles import ROLES
from headscope.pages.figures.layout import draw_with_interval
from headscope.pages.figures.style import DEPTHS, EXPECTED, style

_THIRDS = dict(zip(PARTS, DEPTHS, strict=True))


def compare_steps_figure(
    thirds: pd.DataFrame, roles: pd.DataFrame, steps: Mapping[str, int], titles: Mapping[str, str]
) -> Figure:
    """A panel for each of `titles`, then the roles of the heads; a row of panels for each stack.

    `thirds` and `roles` are those of a `Comparison`, `steps` gives the step of each run. A line for
    each third of the layers; bands are 95 % intervals.
    """
    trained = thirds[thirds["seeds"] == 0]
    stacks = list(trained["stack"].unique())
    with style():
        columns = -(-(len(titles) + 2) // 2)  # one panel for the roles, one for their legend
        figure = Figure(figsize=(10, 5.2 * len(stacks)), layout="constrained")
        grid = figure.subplots(2 * len(stacks), columns, squeeze=False)
        for number, stack in enumerate(stacks):
            panels = grid[2 * number : 2 * number + 2].ravel()
            of_stack = trained[trained["stack"] == stack]
            for panel, (quantity, title) in zip(panels, titles.items(), strict=False):
                _draw_thirds(panel, of_stack[of_stack["quantity"] == quantity], steps)
                panel.set_title(title if len(stacks) == 1 else f"{stack}: {title}")
            roles_panel, legend_panel, *rest = panels[len(titles) :]
            _draw_roles(roles_panel, roles[roles["stack"] == stack], steps)
            legend_panel.legend(*roles_panel.get_legend_handles_labels(), loc="center left")
            for panel in panels[: len(titles) + 1]:
                # Most changes come early in training, and step 0 has no logarithm.
                panel.set_xscale("symlog", linthresh=_first_step(steps))
                panel.set_xticks(sorted(steps.values()), [str(s) for s in sorted(steps.values())])
                panel.minorticks_off()
                panel.set_xlabel("training step")
                panel.set_xlim(-0.15 * _first_step(steps), 1.2 * max(steps.values()))
            for panel in (legend_panel, *rest):
                panel.axis("off")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
        return figure


def _first_step(steps: Mapping[str, int]) -> int:
    return min((step for step in steps.values() if step > 0), default=1)


def _draw_thirds(panel: Axes, thirds: pd.DataFrame, steps: Mapping[str, int]) -> None:
    for third, colour in _THIRDS.items():
        line = thirds[thirds["third"] == third]
        line = line.assign(step=line["run"].map(steps)).sort_values("step")
        draw_with_interval(
            panel,
            line,
            "step",
            color=colour,
            marker="o",
            markersize=3,
            label=f"{third} third of the layers",
        )
    panel.axhline(0, color=EXPECTED, linewidth=0.5)


def _draw_roles(panel: Axes, roles: pd.DataFrame, steps: Mapping[str, int]) -> None:
    table = roles.assign(step=roles["run"].map(steps)).pivot_table(
        index="step", columns="role", values="heads", fill_value=0, aggfunc="sum"
    )
    for role in ROLES:
        if role.name in table:
            panel.plot(
                table.index,
                table[role.name],
                color=role.colour,
                marker="o",
                markersize=3,
                label=role.words,
            )
    panel.set_title("heads by role\n(number of heads)")
