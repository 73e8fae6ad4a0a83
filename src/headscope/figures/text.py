"""One head on one text: its attention, and its similarity with the mask of attention over it."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from headscope.errors import SettingsError
from headscope.figures.frame import framed_figure, settled
from headscope.figures.matrices import draw_matrix
from headscope.figures.style import PAPER, SMALL, style

MOST_LABELS = 44
"""Tokens that can be written along an axis and still be read."""
_MASK = PAPER


@runtime_checkable
class TextView(Protocol):
    """All matrices of one text."""

    @property
    def tokens(self) -> Sequence[str]:
        """The text as the model reads it."""

    @property
    def sentences(self) -> Any:
        """The sentence of each token, -1 for none."""

    @property
    def attention(self) -> Any:
        """Attention maps of shape (layer, head, query, key)."""

    @property
    def similarity(self) -> Any:
        """Context similarity matrices of shape (layer, head, token, token)."""

    @property
    def high_attention(self) -> Any:
        """Whether a token has high attention, of shape (layer, head, key)."""


def text_figure(view: TextView, layer: int, head: int, caption: str = "") -> Figure:
    """The two matrices of a head, side by side; layers and heads are numbered from 1.

    Rows and columns of high-attention tokens are framed: similarity within the frames is where
    attention and similarity agree. `caption` names the model.
    """
    attention = _of_head(view.attention, layer, head)
    similarity = _of_head(view.similarity, layer, head).copy()
    np.fill_diagonal(similarity, np.nan)
    tokens = [_visible(token) for token in view.tokens]
    # Cross attention reads other tokens than it writes for: no mask can lie over C.
    square = attention.shape[1] == len(tokens)
    high = _of_head(view.high_attention, layer, head).astype(bool)
    masked = np.flatnonzero(high) if square else np.array([], dtype=np.int64)
    with style():
        figure = framed_figure(
            f"Layer {layer}, head {head}: attention and context similarity",
            caption,
            f"1 text of {len(tokens)} tokens; frames: rows and columns of the {len(masked)} tokens "
            "with high attention; dotted: sentence boundaries",
            height=4.1,
        )
        left, right = figure.subplots(1, 2)
        _draw(left, attention, "attention weight", signed=False)
        _draw(right, similarity, "similarity", signed=bool(np.nanmin(similarity, initial=0) < 0))
        left.set_title("attention")
        left.set_ylabel("query token")
        left.set_xlabel("key token")
        right.set_title("context similarity")
        right.set_ylabel("token")
        right.set_xlabel("token")
        for panel in (left, right):
            _name_rows(panel, tokens, masked)
            if square or panel is right:
                _name_columns(panel, tokens, masked)
                _draw_boundaries(panel, np.asarray(view.sentences))
        for token in masked:
            for edge in (token - 0.5, token + 0.5):
                right.axhline(edge, color=_MASK, linewidth=0.5)
                right.axvline(edge, color=_MASK, linewidth=0.5)
        return settled(figure)


def _of_head(arrays: Any, layer: int, head: int) -> NDArray[Any]:
    values = np.asarray(arrays)
    layers, heads = values.shape[:2]
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise SettingsError(
            f"layer {layer}, head {head}: this text has layers 1 to {layers} and heads 1 to {heads}"
        )
    return np.asarray(values[layer - 1, head - 1])


def _draw(panel: Axes, matrix: NDArray[np.float64], label: str, *, signed: bool) -> None:
    rows, columns = matrix.shape
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    draw_matrix(panel, matrix, extent, signed=signed, label=label)


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


def _name_rows(panel: Axes, tokens: list[str], masked: NDArray[np.int64]) -> None:
    at = labelled_tokens(len(tokens), masked)
    panel.set_yticks(at, [tokens[n] for n in at], fontsize=SMALL - 1, parse_math=False)
    panel.tick_params(length=1.5, pad=1)


def _name_columns(panel: Axes, tokens: list[str], masked: NDArray[np.int64]) -> None:
    at = labelled_tokens(len(tokens), masked)
    names = [tokens[n] for n in at]
    panel.set_xticks(at, names, fontsize=SMALL - 1, rotation=90, parse_math=False)


def _draw_boundaries(panel: Axes, sentences: NDArray[np.int64]) -> None:
    changes = np.flatnonzero((sentences[1:] != sentences[:-1]) & (sentences[1:] >= 0)
                             & (sentences[:-1] >= 0))  # fmt: skip
    for change in changes + 0.5:
        panel.axhline(change, color="white", linewidth=0.6, linestyle=":")
        panel.axvline(change, color="white", linewidth=0.6, linestyle=":")
