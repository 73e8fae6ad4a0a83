"""Echoes: whether segments are topics of their own or parts of one text that comes back to things.

Any text can be cut so that sentences of one segment are more alike than others. In a text on one
thing, though, the segments echo each other: some sentences of one are very much like sentences of
another, since names, questions or whole lines come back. Passages on different things do not.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

_ECHOES = 0.01
"""The share of the pairs across segments that count as echoes: the ones most alike."""


def stand_apart(cosines: Float64[np.ndarray, "sentence sentence"], starts: Sequence[int]) -> bool:
    """Whether segments that begin at 0 and at `starts` differ more than they echo each other.

    By cosines, not centred. How much more alike sentences are inside segments than across has to
    exceed the square of how much more alike echoes are than other pairs across. Both are shares of
    the mean distance across, so that it does not matter how close to 1 all cosines of a model are.
    """
    n = len(cosines)
    first, second = np.triu_indices(n, 1)
    pairs = cosines[first, second]
    segment = np.searchsorted(np.asarray(starts), np.arange(n), side="right")
    inside = segment[first] == segment[second]
    if inside.all() or not inside.any():
        return False
    across = pairs[~inside]
    usual = across.mean()
    contrast = pairs[inside].mean() - usual
    echoes = np.quantile(across, 1 - _ECHOES) - usual
    return bool(contrast * (1 - usual) > echoes**2)
