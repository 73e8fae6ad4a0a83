"""What is around every figure: its title, and lines that name model, corpus and sample."""

from matplotlib.figure import Figure

from headscope.figures.style import FULL_WIDTH, SMALL


def framed_figure(title: str, *lines: str, height: float) -> Figure:
    """An empty figure, as wide as a page, that says on top what it shows and below of what."""
    figure = Figure(figsize=(FULL_WIDTH, height), layout="constrained")
    # Names may hold dollar signs, which are no mathematics here.
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", parse_math=False)
    figure.supxlabel(
        "\n".join(line for line in lines if line),
        x=0.01,
        ha="left",
        fontsize=SMALL,
        color="#444444",
        parse_math=False,
    )
    return figure


def settled(figure: Figure) -> Figure:
    """The figure with everything in its final place.

    The layout is found by drawing, and found anew, a little differently, at every drawing and
    resolution. Settled, a figure is the same in every format, whatever was written before.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure
