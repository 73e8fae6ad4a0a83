"""The three depths at which the paper shows its matrices."""

from collections.abc import Sequence


def three_depths(layers: Sequence[int]) -> list[int]:
    """The first, the middle and the last layer but one: 1, 6 and 11 of 12.

    Of three layers or fewer, all: someone who measured layers 1, 6 and 11 wants to see them.
    """
    n = len(layers)
    if n <= 3:
        return list(layers)
    return [layers[0], layers[(n - 1) // 2], layers[n - 2]]
