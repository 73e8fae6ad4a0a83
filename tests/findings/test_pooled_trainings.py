"""Trainings that differ in their seed: what intervals of their mean cover."""

import numpy as np

from headscope.findings.learning import pool_trainings
from headscope.findings.resampling.bootstrap import draw_documents, expansion
from headscope.findings.resampling.resampled_run import interval_of

DOCUMENTS = 30


def three_trainings(rng, *, of_seeds, own=0.3):
    """Their number at two steps, of which the second is 1 larger; and its bootstrap samples."""
    draws = draw_documents(DOCUMENTS, int(rng.integers(1 << 30)))
    shared = rng.normal(size=(DOCUMENTS, 1))
    samples = []
    for _ in range(3):
        level, change = rng.normal(0, of_seeds, 2)
        truth = np.array([level, level + 1 + change])
        values = truth + shared + rng.normal(0, own, (DOCUMENTS, 2))
        samples.append((draws.sums(values) / DOCUMENTS).T)
    return np.stack(samples)


def test_intervals_cover_other_seeds_and_documents():
    """95 of 100 are to: fewer than 180 of 200 would happen once in a thousand.

    Documents alone cover few where seeds vary: their samples do not know of seeds.
    """
    rng = np.random.default_rng(0)
    expanded = expansion(DOCUMENTS)
    covered = alone = 0
    for number in range(200):
        samples = three_trainings(rng, of_seeds=0.5)
        pooled = pool_trainings(samples, expanded=expanded, seed=number)
        with_seeds = interval_of(pooled[1] - pooled[0], DOCUMENTS)
        difference = samples.mean(axis=0)[1] - samples.mean(axis=0)[0]
        without = interval_of(difference, DOCUMENTS)
        covered += with_seeds.low <= 1 <= with_seeds.high
        alone += without.low <= 1 <= without.high
    assert 180 <= covered <= 200
    assert alone < 100


def test_intervals_are_not_much_too_wide_where_seeds_do_not_matter():
    rng = np.random.default_rng(1)
    covered = 0
    for number in range(200):
        samples = three_trainings(rng, of_seeds=0.0)
        pooled = pool_trainings(samples, expanded=expansion(DOCUMENTS), seed=number)
        found = interval_of(pooled[1] - pooled[0], DOCUMENTS)
        covered += found.low <= 1 <= found.high
    assert covered >= 180


def test_what_a_seed_does_to_all_steps_cancels_in_differences():
    samples = np.zeros((3, 2, 101))
    samples += np.array([0.0, 5.0, -4.0])[:, None, None]  # levels that differ by seed
    samples[:, 1] += 1
    pooled = pool_trainings(samples)
    assert pooled[0].std() > 1
    np.testing.assert_allclose(pooled[1] - pooled[0], 1)


def test_one_training_varies_with_documents_alone():
    samples = np.random.default_rng(0).normal(size=(1, 2, 11))
    np.testing.assert_array_equal(pool_trainings(samples), samples[0])
