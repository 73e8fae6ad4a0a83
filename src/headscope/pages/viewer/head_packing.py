"""What heads wrote, packed for a page: as it is for short texts, compact for long ones.

Compact, 30 x 9 heads on 492 tokens take 13 MB instead of 61 (SmolLM2). Two things make it small:

- C = Z Z' is the same when all vectors are rotated. Rotated to its principal axes, a head writes
  large numbers on few axes and small ones on the rest, which take few bits each. All are rounded
  to multiples of one step.
- Attention is kept in 16 steps of its square root, two to a byte, column by column: the weights
  that one token gets from its neighbours are alike.

Rounded numbers could swap two pairs of nearly equal similarity, so the pairs by the page's own rule
come along, as the library chose them.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from headscope.pages.packed_arrays import packed_bytes, plain_floats
from headscope.pages.viewer.matrices import LayerMatrices

MOST_PLAIN = 1_000_000
"""Texts for which heads write more numbers than this are packed compactly."""
PLAIN_STEPS = 63
"""The number of steps above zero that attention is kept in: four times as many double the size."""
COMPACT_STEPS = 15
"""The same, where two fit into a byte."""
FINENESS = 16
"""The number of steps in the root mean square of what a head writes. Half as fine, similarities are
off by up to 0.3 of their standard deviation on the worst of 30 heads; as it is, by 0.16."""


def is_long(numbers: int) -> bool:
    """Whether a text is packed compactly.

    Args:
        numbers: How many numbers all heads write for it.
    """
    return numbers > MOST_PLAIN


def packed_heads(layer: LayerMatrices, *, compact: bool) -> dict[str, Any]:
    """Head outputs, attention and, if compact, pairs of a layer as JSON values.

    Args:
        layer: What its heads did with the text.
        compact: Whether numbers are rounded.
    """
    largest = layer.attention.max(axis=(1, 2)).astype(np.float64)
    steps = COMPACT_STEPS if compact else PLAIN_STEPS
    attention = [
        _root_steps(head, most, steps)
        for head, most in zip(layer.attention, largest.tolist(), strict=True)
    ]
    packed = {"attention_largest": largest.tolist(), "attention_steps": steps}
    if not compact:
        return packed | {
            "head_output": [plain_floats(head) for head in layer.head_output],
            "attention": [packed_bytes(head) for head in attention],
        }
    return packed | {
        "axes": [_on_axes(head) for head in layer.head_output],
        "attention": [packed_bytes(_two_a_byte(head.T)) for head in attention],
        "pairs": {
            variant: [_mask(of_head, layer.head_output.shape[1]) for of_head in _by_head(layer, of)]
            for variant, of in layer.pairs.items()
        },
    }


def _root_steps(
    attention: Float[np.ndarray, "token key"], largest: float, steps: int
) -> NDArray[np.uint8]:
    roots = np.sqrt(attention.clip(min=0) / (largest or 1.0))
    rounded: NDArray[np.uint8] = np.rint(steps * roots).astype(np.uint8)
    return rounded


def _two_a_byte(steps: NDArray[np.uint8]) -> NDArray[np.uint8]:
    flat = steps.ravel()
    even = np.append(flat, np.zeros(len(flat) % 2, np.uint8)).reshape(-1, 2)
    packed: NDArray[np.uint8] = even[:, 0] * np.uint8(16) + even[:, 1]
    return packed


def _on_axes(head_output: Float[np.ndarray, "token d_head"]) -> dict[str, Any]:
    """The vectors on their principal axes, axis after axis, in whole steps."""
    vectors = head_output.astype(np.float64)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    step = float(np.sqrt(np.mean(vectors**2))) / FINENESS or 1.0
    whole = np.rint(vectors @ axes[:, ::-1] / step).astype(np.int32).T
    # Signs in the lowest bit, so that small numbers of either sign have a high byte of zero.
    unsigned = np.where(whole >= 0, 2 * whole, -2 * whole - 1).astype(np.uint16)
    return {
        "step": step,
        "low": packed_bytes((unsigned & 255).astype(np.uint8)),
        "high": packed_bytes((unsigned >> 8).astype(np.uint8)),
    }


def _by_head(
    layer: LayerMatrices, pairs: Int[np.ndarray, "3 pair"]
) -> list[Int[np.ndarray, "2 _"]]:
    return [pairs[1:, pairs[0] == head] for head in range(len(layer.head_output))]


def _mask(pairs: Int[np.ndarray, "2 pair"], tokens: int) -> str:
    """One bit for each i < j, row by row."""
    i, j = pairs
    mask = np.zeros(tokens * (tokens - 1) // 2, dtype=bool)
    mask[i * (2 * tokens - i - 1) // 2 + j - i - 1] = True
    return packed_bytes(np.packbits(mask))
