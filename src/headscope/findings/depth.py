"""Depth: where a layer lies in a stack, whatever the number of layers.

The thirds of a stack are those of all its layers, whichever of them were measured, and they do not
overlap. A layer belongs to the third in which its middle lies: of four layers the first third has
one, the middle third two, the last third one; of two layers, none is in the middle.
"""

from collections.abc import Sequence

PARTS = ("first", "middle", "last")
"""The thirds of a stack."""


def relative_depth(layer: int, layers: int) -> float:
    """layer / layers: above 0 at the first layer, 1 at the last."""
    return layer / layers


def third_of(layer: int, layers: int) -> str:
    """The third of the stack in which the middle of a layer lies.

    >>> [third_of(layer, 4) for layer in (1, 2, 3, 4)]
    ['first', 'middle', 'middle', 'last']
    """
    return PARTS[min(int(3 * (layer - 0.5) / layers), 2)]


def layers_by_third(layers: Sequence[int], deepest: int) -> dict[str, list[int]]:
    """The places in `layers` that belong to each third of a stack with `deepest` layers."""
    return {
        part: [place for place, layer in enumerate(layers) if third_of(layer, deepest) == part]
        for part in PARTS
    }


def layers_in(part: str, layers: Sequence[int], deepest: int) -> tuple[int, ...]:
    """The layers, of those that were measured, in one third of a stack.

    >>> layers_in("last", [1, 2, 3], deepest=6)
    ()
    >>> layers_in("last", [1, 2, 3, 4, 5, 6], deepest=6)
    (5, 6)

    Args:
        part: One of `PARTS`.
        layers: The numbers of the layers that were measured.
        deepest: Number of layers of the whole stack.
    """
    return tuple(layer for layer in layers if third_of(layer, deepest) == part)


def three_depths(layers: Sequence[int]) -> list[int]:
    """The first, the middle and the last layer but one: 1, 6 and 11 of 12, as in the paper.

    Of three layers or fewer, all: someone who measured layers 1, 6 and 11 wants to see them.
    """
    n = len(layers)
    if n <= 3:
        return list(layers)
    return [layers[0], layers[(n - 1) // 2], layers[n - 2]]
