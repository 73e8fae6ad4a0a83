"""Where the attention of each layer goes: . ! ?, special tokens by kind, the first token."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from headscope.measures.tables import layer_table
from headscope.pages.figures.figure import RunFigure, from_results
from headscope.pages.figures.layout import draw_by_layer, framed_figure
from headscope.pages.figures.source import Source
from headscope.pages.figures.style import EXPECTED, style
from headscope.text.kinds import TokenKind

_PANELS = {
    "separator_attention": "on . ! ?",
    "special_separator_attention": "on [SEP], </s>",
    "start_attention": "on [CLS], <s>, BOS",
    "special_attention": "on special tokens",
    "first_attention": "on the first token",
}
_OF_KINDS = ("special_separator_attention", "start_attention")
"""They make up `special_attention`, which is shown only where an older run does not have them."""


def separators_figure(results: xr.Dataset, source: Source) -> Figure:
    """A panel for each kind of token over the layers, with a point for every head.

    The dashed line is the share of separators among the tokens: uniform attention would give them
    about that much.
    """
    layers = results["layer"].to_numpy()
    table = layer_table(results)
    apart = set(_OF_KINDS) <= set(table)
    titles = {
        measure: title
        for measure, title in _PANELS.items()
        if measure in table and not (apart and measure == "special_attention")
    }
    with style():
        figure = framed_figure(
            "Attention on sentence marks, special tokens and the first token",
            source.line,
            "line: mean over the heads of a layer; points: its heads, 1 leftmost",
            height=2.7,
        )
        panels = figure.subplots(1, len(titles), sharey=True)
        for panel, (measure, title) in zip(panels, titles.items(), strict=True):
            draw_by_layer(panel, layers, np.asarray(results[measure]), table[measure].to_numpy())
            panel.set_title(title)
        share = separator_share(results)
        panels[0].axhline(share, color=EXPECTED, linestyle="--", label="share of tokens")
        panels[0].set_ylabel("share of attention")
        panels[0].set_ylim(0, 1)
        panels[0].legend(loc="upper left")
        return figure


def separator_share(results: xr.Dataset) -> float:
    """The share of separators among the tokens that may form pairs."""
    kinds = results["token_kinds"].to_numpy()
    return float(kinds[TokenKind.SEPARATOR] / kinds.sum()) if kinds.sum() else float("nan")


SEPARATORS_BY_LAYER = RunFigure(
    name="separators",
    draw=from_results(separators_figure),
    caption="Attention on . ! ?, on [SEP], on [CLS] or BOS, and on the first token, by layer.",
    section="Separators",
)
