"""What a model loses with more and more of its heads gone, by how they were chosen."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from headscope.pages.figures.layout import framed_figure
from headscope.pages.figures.style import BLUE, EXPECTED, GREEN, ORANGE, VERMILION, style

_COLOURS = {
    "written_deviation": BLUE,
    "write_strength": GREEN,
    "gradient": ORANGE,
    "ablation": VERMILION,
    "random": EXPECTED,
}


def pruning_figure(curve: Sequence[Mapping[str, Any]], *, source: str, unit: str) -> Figure:
    """A line for each way to choose heads, with intervals over documents.

    Args:
        curve: Points as `Pruning.as_dict` has them.
        source: What was pruned, and on how many documents it was judged.
        unit: Of the loss.
    """
    with style():
        figure = framed_figure(
            "What the model loses without heads",
            source,
            "judged on documents that chose no head; bands: 95 % intervals over documents",
            height=2.9,
        )
        panel = figure.subplots()
        for by in dict.fromkeys(point["by"] for point in curve):
            points = sorted((p for p in curve if p["by"] == by), key=lambda point: point["share"])
            shares = [0.0, *(100 * point["share"] for point in points)]
            values = [0.0, *(point["loss_increase"]["value"] for point in points)]
            colour = _COLOURS.get(by, VERMILION)
            panel.plot(shares, values, marker="o", markersize=3, color=colour, label=by)
            if all(point["loss_increase"]["low"] is not None for point in points):
                low, high = (
                    [0.0, *(point["loss_increase"][end] for point in points)]
                    for end in ("low", "high")
                )
                panel.fill_between(shares, low, high, color=colour, alpha=0.2, linewidth=0)
        panel.set_xlabel("heads removed, % of all")
        panel.set_ylabel(f"increase, {unit}")
        panel.legend(title="chosen by")
        return figure
