"""How the pairs of a text are spread over distance (compiled)."""

import numpy as np
from numpy.typing import NDArray

from headscope.compiled.decorators import entry_that_makes_arrays


@entry_that_makes_arrays
def pairs_by_distance(
    counted: NDArray[np.bool_], groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The pairs of counted tokens at each distance; and of those, in each group, the pairs in it.

    `groups` has shape (group, token): two tokens belong together where the number is equal and not
    negative. Needs no memory beyond its result, however long the text.
    """
    n = len(counted)
    pairs = np.zeros(n)
    together = np.zeros((len(groups), n))
    for i in range(n):
        if not counted[i]:
            continue
        for j in range(i + 1, n):
            pairs[j - i] += counted[j]
        for group in range(len(groups)):
            ids = groups[group]
            if ids[i] >= 0:
                for j in range(i + 1, n):
                    together[group, j - i] += counted[j] & (ids[j] == ids[i])
    return pairs, together
