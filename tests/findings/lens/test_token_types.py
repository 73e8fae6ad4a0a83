"""Accuracy by token type against plain loops."""

from collections import defaultdict

import numpy as np
import pytest

from headscope.findings.lens.guesses import Guesses, layer_means
from headscope.findings.lens.token_types import token_frequencies, type_accuracy


def random_guesses(windows=30, layers=3, slots=5, kinds=20, seed=0):
    rng = np.random.default_rng(seed)
    target = rng.zipf(1.5, (windows, slots)).clip(1, kinds).astype(float)
    target[rng.random(target.shape) < 0.1] = np.nan
    predicted = rng.integers(1, kinds, (windows, layers, slots)).astype(float)
    right = rng.random(predicted.shape) < np.linspace(0.1, 0.8, layers)[None, :, None]
    predicted = np.where(right, target[:, None], predicted)
    predicted[np.isnan(np.broadcast_to(target[:, None], predicted.shape))] = np.nan
    scores = np.where(np.isnan(predicted), np.nan, rng.random(predicted.shape))
    return Guesses(
        target=target,
        predicted=predicted,
        entropy=scores,
        cross_entropy=2 * scores,
        rank=np.where(np.isnan(scores), np.nan, 1 + np.floor(100 * scores)),
        kl=3 * scores,
        documents=np.arange(windows) // 2,
    )


def plain_type_accuracy(guesses, layer, wanted=lambda token: True):
    right, seen = defaultdict(int), defaultdict(int)
    for window in range(len(guesses.target)):
        for slot, token in enumerate(guesses.target[window]):
            if not np.isnan(token) and wanted(int(token)):
                seen[token] += 1
                right[token] += guesses.predicted[window, layer, slot] == token
    return np.mean([right[token] / seen[token] for token in seen]), len(seen)


def test_every_type_counts_alike():
    guesses = random_guesses()
    frequencies = np.array([0] + [3**k for k in range(20)], dtype=np.int64)
    found = type_accuracy(guesses, frequencies, seed=0)
    for layer in range(3):
        value, types = plain_type_accuracy(guesses, layer)
        assert found.overall[layer].value == pytest.approx(value)
        assert found.types == types
        assert found.overall[layer].low < value < found.overall[layer].high
        assert found.overall[layer].value != pytest.approx(np.nanmean(guesses.correct[:, layer]))
        for one in found.by_frequency:
            most = one.at_most or np.inf
            value, types = plain_type_accuracy(
                guesses, layer, lambda t, one=one, most=most: one.at_least <= frequencies[t] <= most
            )
            assert (one.accuracy[layer].value, one.types) == (pytest.approx(value), types)
    assert sum(one.types for one in found.by_frequency) == found.types
    assert sum(one.positions for one in found.by_frequency) == guesses.scored.sum()
    assert [one.name for one in found.by_frequency][:3] == ["1", "2 to 9", "10 to 99"]


def test_intervals_cover_what_repeats_of_the_study_give():
    """95 %, within what 60 repeats can tell; types are drawn anew each time."""
    frequencies = np.full(21, 5, dtype=np.int64)
    truth = np.mean(
        [type_accuracy(random_guesses(seed=s), frequencies, 0).overall[1].value for s in range(60)]
    )
    covered = 0
    for seed in range(60):
        one = type_accuracy(random_guesses(seed=seed), frequencies, 0).overall[1]
        covered += one.low <= truth <= one.high
    assert covered >= 52


def test_means_are_those_of_all_positions_and_ranks_are_geometric():
    guesses = random_guesses()
    found = layer_means(guesses, seed=0)
    for layer in range(3):
        assert found["entropy"][layer].value == pytest.approx(np.nanmean(guesses.entropy[:, layer]))
        ranks = guesses.rank[:, layer]
        ranks = ranks[np.isfinite(ranks)]
        assert found["rank"][layer].value == pytest.approx(np.prod(ranks ** (1 / len(ranks))))
        one = found["rank"][layer]
        assert 1 <= one.low < one.value < one.high


def test_frequencies_are_counts():
    texts = [np.array([1, 1, 4]), np.array([4, 0])]
    np.testing.assert_array_equal(token_frequencies(texts, 6), [1, 2, 0, 0, 2, 0])
