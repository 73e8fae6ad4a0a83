"""What is around every figure: its title, and the line that names model, corpus and sample."""

from matplotlib.figure import Figure

from headscope.figures.source import Source
from headscope.figures.style import FULL_WIDTH, SMALL


def framed_figure(title: str, source: Source, *notes: str, height: float) -> Figure:
    """An empty figure, as wide as a page, that says what it shows and of what.

    `notes` stand below the line that names the source, one line each.
    """
    figure = Figure(figsize=(FULL_WIDTH, height), layout="constrained")
    # Names may hold dollar signs, which are no mathematics here.
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", parse_math=False)
    figure.supxlabel(
        "\n".join([source.line, *notes]),
        x=0.01,
        ha="left",
        fontsize=SMALL,
        color="#444444",
        parse_math=False,
    )
    return figure
