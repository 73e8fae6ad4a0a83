"""The data of a viewer page: what the heads wrote, packed so that a browser unpacks one at a time.

Head outputs are kept as 32-bit floats: the page computes similarities and pairs from them, by the
library's own rules. Attention is kept in 64 steps of its square root, packed with zlib: enough
for a picture. Its column sums, which decide what high attention is, are floats again.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from headscope.pages.packed import packed_bytes, packed_maps, plain_floats
from headscope.viewer.matrices import LayerMatrices, StackMatrices, TextMatrices
from headscope.viewer.thumbnails import pooled

STEPS = 63
"""Attention is kept in so many steps above zero: four times as many take twice the room."""


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
