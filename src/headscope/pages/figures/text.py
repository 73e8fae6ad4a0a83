"""One head on one text: its attention, and its similarity with the mask of attention over it."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.errors import SettingsError
from headscope.pages.figures.layout import framed_figure, settled
from headscope.pages.figures.matrices import draw_matrix
from headscope.pages.figures.style import PAPER, SMALL, style
from headscope.pages.value_range import value_range

MOST_LABELS = 44
"""The most tokens that are readable along an axis."""
_MASK = PAPER


@runtime_checkable
class TextView(Protocol):
    """All matrices of one text."""

    @property
    def tokens(self) -> Sequence[str]:
        """The text as the model reads it."""

    @property
    def key_tokens(self) -> Sequence[str]:
        """The tokens that heads read, which differ from `tokens` in cross attention."""

    @property
    def layers(self) -> Sequence[int]:
        """The number of each layer, in the order of the first axis of the arrays."""

    @property
    def sentences(self) -> Any:
        """The sentence of each token, -1 for none."""

    @property
    def attention(self) -> Any:
        """Attention maps of shape (layer, head, query, key)."""

    @property
    def similarity(self) -> Any:
        """Context similarity matrices of shape (layer, head, token, token), zero diagonal."""

    @property
    def high_attention(self) -> Any:
        """Whether a token has high attention, of shape (layer, head, key)."""


def text_figure(view: TextView, layer: int, head: int, caption: str = "") -> Figure:
    """The two matrices of a head, side by side; layers and heads are numbered from 1.

    Rows and columns of high-attention tokens are framed: similarity within the frames is where
    attention and similarity agree. `caption` names the model.
    """
    place = _place(view, layer, head)
    attention = np.asarray(view.attention[place], dtype=np.float64)
    similarity = np.array(view.similarity[place], dtype=np.float64)
    np.fill_diagonal(similarity, np.nan)
    tokens, keys = ([_visible(token) for token in some] for some in (view.tokens, view.key_tokens))
    high = np.flatnonzero(view.high_attention[place])
    # Cross attention reads other tokens than those it writes for: there is no mask over C.
    masked = high if tokens == keys else np.array([], dtype=np.int64)
    with style():
        figure = framed_figure(
            f"Layer {layer}, head {head}: attention and context similarity",
            caption,
            f"1 text of {len(tokens)} tokens; frames: rows and columns of the {len(masked)} tokens "
            "with high attention; dotted: sentence boundaries",
            height=3.7,
        )
        left, right = figure.subplots(1, 2)
        _draw(left, attention, "attention weight")
        _draw(right, similarity, "similarity")
        left.set_title("attention")
        left.set_ylabel("query token")
        left.set_xlabel("key token")
        _name_tokens(left, tokens, masked, keys, high)
        right.set_title("context similarity")
        right.set_ylabel("token")
        right.set_xlabel("token")
        _name_tokens(right, tokens, masked, tokens, masked)
        for edge in sentence_edges(np.asarray(view.sentences)):
            dots = {"color": "#999999", "linewidth": 0.7, "linestyle": ":"}
            for panel in (left, right):
                panel.axhline(edge, **dots)
            if tokens == keys:
                left.axvline(edge, **dots)
            right.axvline(edge, **dots)
        for edge in (edge for token in masked for edge in (token - 0.5, token + 0.5)):
            right.axhline(edge, color=_MASK, linewidth=0.5)
            right.axvline(edge, color=_MASK, linewidth=0.5)
        return settled(figure)


def _place(view: TextView, layer: int, head: int) -> tuple[int, int]:
    """Where the head is in the arrays."""
    heads = view.attention.shape[1]
    if layer not in view.layers or not 1 <= head <= heads:
        raise SettingsError(
            f"layer {layer}, head {head}: this view has layers "
            f"{', '.join(map(str, view.layers))} and heads 1 to {heads}"
        )
    return list(view.layers).index(layer), head - 1


def _draw(panel: Axes, matrix: NDArray[np.float64], label: str) -> None:
    rows, columns = matrix.shape
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    low, high = value_range(matrix)
    # Values just below zero need no colours of their own.
    draw_matrix(panel, matrix, extent, signed=low < -0.1 * high, label=label)


def _visible(token: str) -> str:
    """A token on one line, with what cannot be seen made visible."""
    return token.replace("\n", "↵").replace("\t", "→").replace(" ", "␣") or "∅"


def labelled_tokens(n: int, masked: NDArray[np.int64]) -> list[int]:
    """Which tokens are written on the axes: all, or in long texts those of the mask that fit."""
    if n <= MOST_LABELS:
        return list(range(n))
    apart = n / MOST_LABELS
    chosen: list[int] = []
    for token in masked.tolist():
        if not chosen or token - chosen[-1] >= apart:
            chosen.append(token)
    return chosen


def _name_tokens(
    panel: Axes,
    rows: list[str],
    masked_rows: NDArray[np.int64],
    columns: list[str],
    masked_columns: NDArray[np.int64],
) -> None:
    look: dict[str, Any] = {"fontsize": SMALL - 1, "parse_math": False}
    at = labelled_tokens(len(rows), masked_rows)
    panel.set_yticks(at, [rows[place] for place in at], **look)
    at = labelled_tokens(len(columns), masked_columns)
    panel.set_xticks(at, [columns[place] for place in at], rotation=90, **look)
    panel.tick_params(length=1.5, pad=1)


def sentence_edges(sentences: NDArray[np.int64]) -> NDArray[np.float64]:
    """The places between two tokens of different sentences."""
    inside = (sentences[1:] >= 0) & (sentences[:-1] >= 0)
    return np.asarray(np.flatnonzero(inside & (sentences[1:] != sentences[:-1])) + 0.5)
