"""Clusters of confused tokens, planted by hand."""

import numpy as np

from headscope.findings.lens.confusion import confusion_clusters
from headscope.findings.lens.guesses import Guesses


def guesses_of_pairs(pairs):
    """One window and layer with these true and guessed tokens."""
    target = np.array([[true for true, _ in pairs]], dtype=float)
    predicted = np.array([[[guess for _, guess in pairs]]], dtype=float)
    nothing = np.zeros_like(predicted)
    return Guesses(
        target=target,
        predicted=predicted,
        entropy=nothing,
        cross_entropy=nothing,
        rank=nothing + 1,
        kl=nothing,
        documents=np.zeros(1, dtype=np.int64),
    )


def test_tokens_that_are_taken_for_each_other_are_a_cluster():
    pairs = [(1, 2)] * 3 + [(1, 1)] * 2 + [(3, 2)] * 2  # 1 and 3 are both taken for 2
    pairs += [(7, 8)] * 2 + [(8, 7)] * 2  # for each other
    pairs += [(20, 21)]  # once
    pairs += [(30, 31)] * 2 + [(30, 30)] * 20  # seldom
    pairs += [(np.nan, np.nan)]  # an empty slot
    first, second = confusion_clusters(guesses_of_pairs(pairs), 0)
    assert first.tokens == (2, 1, 3)
    assert [(c.true, c.taken_for, c.times, c.of) for c in first.confusions] == [
        (1, 2, 3, 5),
        (3, 2, 2, 2),
    ]
    assert set(second.tokens) == {7, 8}
    assert confusion_clusters(guesses_of_pairs(pairs), 0, least_share=0.09)[2].tokens == (31, 30)


def test_without_confusion_there_is_no_cluster():
    assert confusion_clusters(guesses_of_pairs([(1, 1), (2, 3)]), 0) == ()
