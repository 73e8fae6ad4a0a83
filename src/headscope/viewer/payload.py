"""The data of a viewer page: what the heads wrote, packed so that a browser unpacks one at a time.

Head outputs are kept as 32-bit floats: the page computes similarities and pairs from them, by the
library's own rules. Attention is kept in 64 steps of its square root, packed with zlib: enough
for a picture. Its column sums, which decide what high attention is, are floats again.
"""

import base64
import zlib
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from headscope.viewer.matrices import LayerMatrices, StackMatrices, TextMatrices
from headscope.viewer.thumbnails import thumbnails

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
        "head_output": [_floats(head) for head in layer.head_output],
        "column_mass": _floats(layer.column_mass),
        "attention": [
            _packed(_steps(head, most))
            for head, most in zip(layer.attention, largest.tolist(), strict=True)
        ],
        "attention_largest": largest.tolist(),
        "attention_steps": STEPS,
        "thumbnails": {
            "attention": _thumbnails(layer.attention, attention=True),
            **{
                variant: _thumbnails(matrices, attention=False)
                for variant, matrices in layer.similarity.items()
            },
        },
    }


def _steps(attention: Float[np.ndarray, "token key"], largest: float) -> NDArray[np.uint8]:
    roots = np.sqrt(attention.clip(min=0) / (largest or 1.0))
    return np.rint(STEPS * roots).astype(np.uint8)


def _thumbnails(
    matrices: Float[np.ndarray, "head token other"], *, attention: bool
) -> dict[str, Any]:
    small = thumbnails(matrices, attention=attention)
    _, side, other_side = small.steps.shape
    return {
        "side": side,
        "other_side": other_side,
        "signed": small.signed.tolist(),
        "bytes": _packed(small.steps),
    }


def _floats(values: Float[np.ndarray, "..."]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def _packed(values: NDArray[np.uint8]) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes(), 6)).decode()
