"""Depth: where a layer lies in a model, whatever the number of its layers."""

from collections.abc import Sequence

PARTS = ("first", "middle", "last")
"""The thirds of a stack."""


def relative_depth(layer: int, layers: int) -> float:
    """layer / layers: above 0 at the first layer, 1 at the last."""
    return layer / layers


def third_of(layer: int, layers: int) -> str:
    """The third of the stack in which the middle of a layer lies.

    Of 12 layers each third has four; of 4 layers the thirds have one, two and one; of 2 layers the
    middle third has none.
    """
    return PARTS[min(int(3 * (layer - 0.5) / layers), 2)]


def layers_by_third(layers: Sequence[int], deepest: int) -> dict[str, list[int]]:
    """The places in `layers` that belong to each third of a stack with `deepest` layers."""
    return {
        part: [place for place, layer in enumerate(layers) if third_of(layer, deepest) == part]
        for part in PARTS
    }


def three_depths(layers: Sequence[int]) -> list[int]:
    """The first, the middle and the last layer but one: 1, 6 and 11 of 12.

    Of three layers or fewer, all: someone who measured layers 1, 6 and 11 wants to see them.
    """
    n = len(layers)
    if n <= 3:
        return list(layers)
    return [layers[0], layers[(n - 1) // 2], layers[n - 2]]
