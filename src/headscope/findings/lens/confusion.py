"""Which tokens are taken for which: confusions, and the clusters that they form.

A true token is taken for another if a layer guesses that other one at a large enough share of its
occurrences, and more than once. Tokens that are linked in this way, directly or over others, are a
cluster. Source: arXiv 2509.03407, where clusters of confused tokens show what has been learned.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from headscope.findings.lens.guesses import Guesses

LEAST_SHARE = 0.2
"""Share of the occurrences of a token at which it is taken for another one."""
LEAST_TIMES = 2
"""Number of times."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """A token that is taken for another one."""

    true: int
    taken_for: int
    times: int
    of: int
    """Number of times that the true token was to be guessed."""

    @property
    def share(self) -> float:
        """Of its occurrences."""
        return self.times / self.of


@dataclass(frozen=True, slots=True)
class Cluster:
    """Tokens that are taken for each other, directly or over others."""

    tokens: tuple[int, ...]
    """Those that are guessed most often first."""
    confusions: tuple[Confusion, ...]
    """Most frequent ones first."""


def confusion_clusters(
    guesses: Guesses, layer: int, least_share: float = LEAST_SHARE, least_times: int = LEAST_TIMES
) -> tuple[Cluster, ...]:
    """The clusters of confused tokens in one layer, those with most confusions first.

    Args:
        guesses: Of one group of positions.
        layer: Its place.
        least_share: Of the occurrences of the true token.
        least_times: Number of times.
    """
    known = guesses.scored & np.isfinite(guesses.predicted[:, layer])
    true = guesses.target[known].astype(np.int64).tolist()
    guessed = guesses.predicted[:, layer][known].astype(np.int64).tolist()
    occurrences = Counter(true)
    pairs = Counter((t, g) for t, g in zip(true, guessed, strict=True) if t != g)
    confusions = [
        Confusion(t, g, times, occurrences[t])
        for (t, g), times in pairs.items()
        if times >= least_times and times >= least_share * occurrences[t]
    ]
    return _clusters(confusions)


def _clusters(confusions: list[Confusion]) -> tuple[Cluster, ...]:
    tokens = sorted({token for one in confusions for token in (one.true, one.taken_for)})
    place = {token: at for at, token in enumerate(tokens)}
    links = (
        np.ones(len(confusions)),
        ([place[one.true] for one in confusions], [place[one.taken_for] for one in confusions]),
    )
    number, label = connected_components(csr_array(links, shape=(len(tokens),) * 2), directed=False)
    found = []
    for at in range(number if confusions else 0):
        own = sorted(
            (one for one in confusions if label[place[one.true]] == at),
            key=lambda one: (-one.times, one.true, one.taken_for),
        )
        taken = Counter[int]()
        for one in own:
            taken[one.taken_for] += one.times
        of_cluster = [token for token in tokens if label[place[token]] == at]
        of_cluster.sort(key=lambda token: (-taken[token], token))
        found.append(Cluster(tuple(of_cluster), tuple(own)))
    found.sort(key=lambda one: (-sum(c.times for c in one.confusions), one.tokens))
    return tuple(found)
