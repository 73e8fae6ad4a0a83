"""Where texts are spliced and phrases planted, in windows of any length.

Apart from the sums, so that a command knows its options without loading numpy.
"""


def splice_point(window: int) -> int:
    """The place of the first token of a spliced text that is from another document.

    Args:
        window: Length of the texts, in tokens.
    """
    return window // 2


def repeat_distances(window: int) -> tuple[int, ...]:
    """How far apart planted phrases are: 16, 64, 256, ... up to half a window.

    >>> repeat_distances(512)
    (16, 64, 256)

    Args:
        window: Length of the texts, in tokens.
    """
    found, distance = [], 16
    while 2 * distance <= window:
        found.append(distance)
        distance *= 4
    return tuple(found)
