"""The page of one text: what the heads wrote, packed so that one head can be unpacked at a time."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from headscope.pages.document import Page, make_page
from headscope.pages.packed_arrays import packed_bytes, packed_maps, plain_floats
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


STEPS = 63
"""The number of steps above zero that attention is kept in: four times as many double the size."""


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
    return {
        "name": stack.name,
        "tokens": list(stack.tokens),
        "key_tokens": None if stack.key_tokens is None else list(stack.key_tokens),
        "sentences": stack.sentences.tolist(),
        "counted": stack.counted.astype(int).tolist(),
        "first": stack.first.tolist(),
        "layers": [_layer(layer) for layer in stack.layers],
    }


def _layer(layer: LayerMatrices) -> dict[str, Any]:
    largest = layer.attention.max(axis=(1, 2)).astype(np.float64)
    return {
        "layer": layer.layer,
        "heads": len(layer.head_output),
        "head_output": [plain_floats(head) for head in layer.head_output],
        "column_mass": plain_floats(layer.column_mass),
        "attention": [
            packed_bytes(_steps(head, most))
            for head, most in zip(layer.attention, largest.tolist(), strict=True)
        ],
        "attention_largest": largest.tolist(),
        "attention_steps": STEPS,
        "thumbnails": {
            "attention": packed_maps(np.sqrt(pooled(layer.attention, diagonal=True).clip(min=0))),
            **{
                variant: packed_maps(pooled(matrices, diagonal=False), symmetric=True)
                for variant, matrices in layer.similarity.items()
            },
        },
    }


def _steps(attention: Float[np.ndarray, "token key"], largest: float) -> NDArray[np.uint8]:
    roots = np.sqrt(attention.clip(min=0) / (largest or 1.0))
    steps: NDArray[np.uint8] = np.rint(STEPS * roots).astype(np.uint8)
    return steps


def viewer_page(text: TextMatrices) -> Page:
    """The page, with all data inside."""
    return make_page(
        "look.html.jinja",
        title=f"headscope: {text.model}",
        styles=("base", "viewer"),
        script="page_viewer",
        data=viewer_payload(text),
    )
