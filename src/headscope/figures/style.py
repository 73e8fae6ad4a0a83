"""One look for all figures: colour-blind safe (Okabe and Ito), light, with text as text."""

from contextlib import AbstractContextManager

import matplotlib as mpl

MEASURED = "#0072B2"
EXPECTED = "#767676"


def style() -> AbstractContextManager[None]:
    """Draw within this to get the look of headscope."""
    return mpl.rc_context(
        {
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "lines.linewidth": 1.4,
            # Text stays text in SVG: it can be searched, and files are small.
            "svg.fonttype": "none",
            # Same input, same bytes: no random ids.
            "svg.hashsalt": "headscope",
        }
    )
