"""What heads write and read at single tokens, before any two are compared (compiled)."""

from typing import Any

import numpy as np

from headscope.compiled.decorators import entry, inner, inner_in_any_order
from headscope.compiled.layout import Floats, Layer, Outputs, Tokens

_SHORTEST = 1e-12
"""Vectors are taken to be so long at least where something is divided by their length."""


@entry
def measure_tokens(
    vectors: Floats, mass: Floats, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    """Fill what `layer` says of tokens, and the sums over them.

    `vectors` (b n h d) are what the heads wrote, `mass` (b h k) is the attention of each key.
    """
    n_texts, heads, _ = mass.shape
    for text in range(n_texts):
        for place in range(vectors.shape[1]):
            for head in range(heads):
                length = np.sqrt(_squares(vectors[text, place, head]))
                _keep_length(length, text, head, place, tokens, layer, outputs)
        for head in range(heads):
            _measure_mass(mass[text, head], text, head, tokens, layer, outputs)


@inner_in_any_order
def _squares(row: Floats) -> Any:
    summed = row.dtype.type(0)
    for k in range(len(row)):
        summed += row[k] * row[k]
    return summed


@inner
def _keep_length(
    length: float, text: int, head: int, place: int, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    kind: Any = layer.scales.dtype.type
    scale = length if layer.scale_by_length else kind(1) / max(length, kind(_SHORTEST))
    layer.scales[text, head, place] = scale
    if tokens.counted[text, place]:
        outputs.lengths[text, head, 0] += length
        if tokens.separators[text, place]:
            outputs.lengths[text, head, 1] += length


@inner
def _measure_mass(
    mass: Floats, text: int, head: int, tokens: Tokens, layer: Layer, outputs: Outputs
) -> None:
    """The mass of some kinds of keys, and that of each with the largest of the text at 1."""
    separators, specials = tokens.key_separators[text], tokens.key_specials[text]
    sums = outputs.attention[text, head]
    if len(mass) > 0:
        sums[2] = mass[0]
    for key in range(len(mass)):
        received = np.float64(mass[key])
        sums[0] += received if separators[key] else 0.0
        sums[1] += received if specials[key] else 0.0
        sums[3] += received
    scaling, viewers, scaled = tokens.scaling[text], tokens.viewers[text], layer.scaled_mass
    kind = scaled.dtype.type
    largest = np.finfo(scaled.dtype).tiny
    for key in range(len(mass)):
        per_viewer = mass[key] / viewers[key] if scaling[key] else kind(0)
        scaled[text, head, key] = per_viewer
        largest = max(largest, per_viewer)
    for key in range(len(mass)):
        scaled[text, head, key] /= largest
        for which in range(len(layer.thresholds)):
            outputs.high[text, head, which] += scaled[text, head, key] >= layer.thresholds[which]
