"""One look for all figures: colour-blind safe, light, with text as text."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

# Okabe and Ito's colours, which people with any colour vision can tell apart.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
YELLOW = "#F0E442"
GREY = "#BBBBBB"

MEASURED = BLUE
EXPECTED = "#767676"
"""What chance, distance or frequency alone would give."""
PAPER = VERMILION
"""Numbers that the paper reports."""
ABSENT = "#E8E8E8"
"""Cells of a matrix without a number."""
DEPTHS = (ORANGE, GREEN, BLUE)
"""Early, middle and late layers."""

SEQUENTIAL = "cividis"
ORDERED = "viridis"
"""For ordered lines, such as layers: unlike that of cividis, its middle is not grey."""
DIVERGING = "RdBu_r"
"""For numbers with a sign; white is zero."""

FULL_WIDTH = 7.1
"""Inches: both columns of a two-column page."""
SMALL = 6
"""Points: the smallest text that still reads at that width."""


@contextmanager
def style() -> Iterator[None]:
    """Draw and write within this to get the look of headscope."""
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # Tokens may contain characters that the font lacks. PNG and PDF show a box; SVG has the
        # text itself.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        yield


_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.4,
    "image.interpolation": "nearest",
    "savefig.dpi": 300,
    # Text stays text in SVG and PDF: it can be searched and edited.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # Same input, same bytes: no random ids.
    "svg.hashsalt": "headscope",
}
