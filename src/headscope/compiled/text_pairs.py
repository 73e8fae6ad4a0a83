"""How the pairs of texts are spread over distance (compiled)."""

import numpy as np
from numpy.typing import NDArray

from headscope.compiled.decorators import entry


@entry
def count_by_distance(
    counted: NDArray[np.bool_],
    groups: NDArray[np.int64],
    pairs: NDArray[np.float64],
    together: NDArray[np.float64],
) -> None:
    """Count the pairs of counted tokens at each distance; and of those, in each group, those in it.

    Adds to `pairs` (text, distance) and `together` (group, text, distance). `groups` has shape
    (group, text, token): two tokens belong together where the number is equal and not negative.
    """
    n_texts, n = counted.shape
    for text in range(n_texts):
        there, found = counted[text], pairs[text]
        for i in range(n):
            if not there[i]:
                continue
            for j in range(i + 1, n):
                found[j - i] += there[j]
            for group in range(len(groups)):
                ids, alike = groups[group, text], together[group, text]
                if ids[i] >= 0:
                    for j in range(i + 1, n):
                        alike[j - i] += there[j] & (ids[j] == ids[i])
