"""The page of one text: what the heads wrote, packed so that one head can be unpacked at a time."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from headscope.pages.document import Page, make_page
from headscope.pages.packed_arrays import packed_maps, plain_floats
from headscope.pages.value_range import value_range
from headscope.pages.viewer.head_facts import head_facts
from headscope.pages.viewer.head_packing import is_long, packed_heads
from headscope.pages.viewer.matrices import LayerMatrices, StackMatrices, TextMatrices

SIDE = 40
"""The most cells on a side of a thumbnail."""


def pooled(
    matrices: Float[np.ndarray, "head token other"], *, diagonal: bool
) -> Float[np.ndarray, "head row column"]:
    """The mean of each block of cells, at most `SIDE` blocks on a side.

    Without `diagonal`, cells on the diagonal, which is zero in similarities, do not count; a block
    of nothing else is NaN.
    """
    _, rows, columns = matrices.shape
    row_starts, column_starts = _starts(rows), _starts(columns)
    row_sizes, column_sizes = np.diff([*row_starts, rows]), np.diff([*column_starts, columns])
    sums = np.add.reduceat(matrices, row_starts, axis=1, dtype=np.float64)
    sums = np.add.reduceat(sums, column_starts, axis=2)
    counts = np.outer(row_sizes, column_sizes)
    if not diagonal:
        counts = counts - np.diag(row_sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: NDArray[np.float64] = np.where(counts > 0, sums / counts, np.nan)
    return means


def _starts(n: int) -> NDArray[np.int64]:
    """Where the blocks begin: at most `SIDE` of them, of sizes as equal as possible."""
    return np.linspace(0, n, min(n, SIDE), endpoint=False).astype(np.int64)


def viewer_payload(text: TextMatrices) -> dict[str, Any]:
    """The data as JSON values."""
    return {
        "model": text.model,
        "text": text.text,
        "settings": {
            "similarity": text.settings.similarity,
            "pairs": str(text.settings.pairs),
            "attention_threshold": text.settings.attention_threshold,
        },
        "stacks": [_stack(stack) for stack in text.stacks],
    }


def _stack(stack: StackMatrices) -> dict[str, Any]:
    compact = is_long(stack.numbers)
    counted = np.flatnonzero(stack.counted)
    return {
        "name": stack.name,
        "tokens": list(stack.tokens),
        "key_tokens": None if stack.key_tokens is None else list(stack.key_tokens),
        "sentences": stack.sentences.tolist(),
        "counted": stack.counted.astype(int).tolist(),
        "first": stack.first.tolist(),
        "compact": compact,
        "heads": None if stack.heads is None else head_facts(stack.heads),
        "layers": [_layer(layer, counted, compact=compact) for layer in stack.layers],
    }


def _layer(layer: LayerMatrices, counted: NDArray[np.int64], *, compact: bool) -> dict[str, Any]:
    return {
        "layer": layer.layer,
        "heads": len(layer.head_output),
        "column_mass": plain_floats(layer.column_mass),
        **packed_heads(layer, compact=compact),
        # The colours of a small map are those of the large one: both take their range from here.
        "thumbnails": {
            "attention": packed_maps(
                np.sqrt(pooled(layer.attention, diagonal=True).clip(min=0)),
                ranges=[(0.0, _bright(head)) for head in layer.attention],
            ),
            **{
                variant: packed_maps(
                    pooled(matrices, diagonal=False),
                    symmetric=True,
                    ranges=[_pair_range(head, counted) for head in matrices],
                )
                for variant, matrices in layer.similarity.items()
            },
        },
    }


def _bright(attention: Float[np.ndarray, "token key"]) -> float:
    """The root of the attention that has the brightest colour: few cells have more."""
    _, high = value_range(attention)
    return float(np.sqrt(min(high, attention.max()) or 1.0))


def _pair_range(
    matrix: Float[np.ndarray, "token token"], counted: NDArray[np.int64]
) -> tuple[float, float]:
    """The range of the similarities of all pairs of tokens that count."""
    rows, columns = np.triu_indices(len(counted), 1)
    return value_range(matrix[counted[rows], counted[columns]])


def viewer_page(text: TextMatrices) -> Page:
    """The page, with all data inside."""
    return make_page(
        "look.html.jinja",
        title=f"headscope: {text.model}",
        styles=("base", "viewer"),
        script="page_viewer",
        data=viewer_payload(text),
    )
