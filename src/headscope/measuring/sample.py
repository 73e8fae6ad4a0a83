"""The sample of a run: a few windows, from as many documents as possible.

What is too costly for every window is measured on it: every analysis choice, and the untrained
models. Its size does not grow with the corpus.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def choose_sample(documents: Sequence[object], number: int, seed: int) -> NDArray[np.int64]:
    """The places of some windows: one of each document, then a second one of each, in random order.

    >>> choose_sample(["a", "a", "a", "b"], 2, seed=0).tolist()
    [2, 3]

    Args:
        documents: The document of each window.
        number: Number of windows; all if there are fewer.
        seed: The same seed gives the same sample.
    """
    rng = np.random.default_rng(seed)
    of_document: dict[object, list[int]] = defaultdict(list)
    for place in rng.permutation(len(documents)).tolist():
        of_document[documents[place]].append(place)
    rounds = np.empty(len(documents), dtype=np.int64)
    for places in of_document.values():
        rounds[places] = np.arange(len(places))
    order = np.lexsort((rng.permutation(len(documents)), rounds))
    return np.sort(order[:number])


def share_of_seed(sample: NDArray[np.int64], windows: int, seed: int) -> NDArray[np.int64]:
    """The windows that the untrained model of one seed reads.

    Seeds take turns, so that they read as many different windows as possible. Once all were read,
    the windows are shuffled again: if the same shares came back, a few differences between shares
    would pass for differences between many seeds.

    Args:
        sample: The windows of all seeds.
        windows: Number of windows of each seed.
        seed: Of the random weights, from 0.
    """
    size = len(sample)
    if windows >= size:
        return np.sort(sample)
    first, last = seed * windows, (seed + 1) * windows - 1
    rounds = [_shuffled(size, number) for number in range(first // size, last // size + 1)]
    if len(rounds) == 2:
        # A window that ends one round is not read again by the same seed in the next.
        begun = rounds[0][first % size :]
        order = np.concatenate([begun, rounds[1][~np.isin(rounds[1], begun)]])
        return np.sort(sample[order[:windows]])
    return np.sort(sample[rounds[0][first % size :][:windows]])


def _shuffled(size: int, number: int) -> NDArray[np.int64]:
    """The order in which windows are read in one round."""
    return np.random.default_rng([size, number]).permutation(size)
