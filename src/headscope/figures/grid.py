"""Axes of figures that have one cell a head: layers downwards, heads to the right."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes


def label_grid(panel: Axes, results: xr.Dataset) -> None:
    """Number the cells: row 1 is the first layer measured, column 1 is head 1."""
    name_cells(panel, results["layer"].to_numpy().tolist(), len(results["head"]))


def name_cells(panel: Axes, layers: list[int], heads: int) -> None:
    """Axes labelled with layers (not always 1, 2, 3, ...) and heads; no frame, no tick marks."""
    panel.set_xlim(0.5, heads + 0.5)
    panel.set_ylim(len(layers) + 0.5, 0.5)
    panel.set_xticks(np.arange(1, heads + 1))
    panel.set_yticks(np.arange(1, len(layers) + 1), [str(layer) for layer in layers])
    panel.set_xlabel("head")
    panel.set_ylabel("layer")
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
