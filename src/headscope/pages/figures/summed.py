"""Mean context similarity by position, at three depths: the paper's summed matrices."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from headscope.findings.depth import three_depths
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import framed_figure
from headscope.pages.figures.matrices import draw_matrix, mean_similarity
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import style
from headscope.settings import SIMILARITY_VARIANTS


def summed_figure(results: xr.Dataset, source: Source) -> Figure:
    """A panel per depth (columns) and variant of similarity (rows): the mean of all heads.

    Every panel has a colour scale of its own: compare where similarity lies, not how large
    it is. Centred similarity is signed; white is zero.
    """
    layers = three_depths(results["layer"].to_numpy().tolist())
    # Older runs, and minimal ones, have fewer variants.
    variants = [v for v in SIMILARITY_VARIANTS if v in results["variant"]]
    end = source.window_tokens - 0.5
    with style():
        figure = framed_figure(
            "Context similarity by token position",
            source.line,
            "mean over windows and heads; a colour scale for each panel; the diagonal and "
            "positions without tokens are grey",
            height=0.5 + 2.05 * len(variants),
        )
        panels = figure.subplots(
            len(variants), len(layers), sharex=True, sharey=True, squeeze=False
        )
        for row, variant in zip(panels, variants, strict=True):
            means = mean_similarity(results.sel(layer=layers), variant).mean("head")
            for panel, layer in zip(row, layers, strict=True):
                draw_matrix(
                    panel,
                    np.asarray(means.sel(layer=layer)),
                    (-0.5, end, end, -0.5),
                    signed=variant == "centred",
                    label=f"mean {variant} similarity" if layer == layers[-1] else "",
                )
            row[0].set_ylabel(f"{variant}\nposition (tokens)")
        for panel, layer in zip(panels[0], layers, strict=True):
            panel.set_title(f"layer {layer}")
        for panel in panels[-1]:
            panel.set_xlabel("position (tokens)")
        return figure


SUMMED = RunFigure(
    name="summed",
    draw=from_results(summed_figure),
    caption="Mean similarity by position: first, middle and last but one layer.",
    section="Summed similarity at three depths",
)
