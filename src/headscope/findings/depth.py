"""Depth: where a layer lies in a stack, whatever the number of layers.

There are two ways to divide a stack into thirds:

- by number (`third_of`, `layers_by_third`): the thirds of the whole stack, whichever of its layers
  were measured. They do not overlap, so that models of different depth can be compared third by
  third, but in a stack of two layers the middle third is empty.
- by count (`middle_third`, `final_third`): a third of the layers that were measured, rounded up.
  Neither is ever empty, so that claims can always be judged, but the two may share a layer: of four
  layers the middle third is 2 and 3, the final third 3 and 4.

With 3, 6, 9, 12, ... layers, all of them measured, both give the same layers.
"""

import math
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


def middle_third(layers: Sequence[int]) -> tuple[int, ...]:
    """The middle third of the layers that were measured, rounded up.

    >>> middle_third([1, 2, 3, 4]), final_third([1, 2, 3, 4])
    ((2, 3), (3, 4))
    """
    third = math.ceil(len(layers) / 3)
    start = (len(layers) - third) // 2
    return tuple(layers[start : start + third])


def final_third(layers: Sequence[int]) -> tuple[int, ...]:
    """The final third of the layers that were measured, rounded up."""
    return tuple(layers[-math.ceil(len(layers) / 3) :])


def three_depths(layers: Sequence[int]) -> list[int]:
    """The first, the middle and the last layer but one: 1, 6 and 11 of 12, as in the paper.

    Of three layers or fewer, all: someone who measured layers 1, 6 and 11 wants to see them.
    """
    n = len(layers)
    if n <= 3:
        return list(layers)
    return [layers[0], layers[(n - 1) // 2], layers[n - 2]]
