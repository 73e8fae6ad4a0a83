"""Intervals must cover and tests must keep their level: shown by simulation."""

import numpy as np
import pytest

from headscope.findings.resampling.bootstrap import document_weights, interval, resampled_sums
from headscope.findings.resampling.false_discovery import false_discovery, upper_p_values
from headscope.findings.resampling.resampled_run import interval_of, resample_run
from headscope.findings.resampling.window_table import WindowTable
from headscope.measures.mean_distance import MEAN_DISTANCE
from headscope.measures.norm import NORM

SIMULATIONS = 300


def simulated_table(
    rng: np.random.Generator, documents: int, windows: int, mean: float, heads: int = 1
) -> WindowTable:
    """Windows whose distances vary between documents more than within them."""
    document = np.repeat(np.arange(documents), windows)
    shape = (len(document), 1, heads)
    level = rng.normal(0, 2, documents)[document][:, None, None]
    distance = mean + level + rng.normal(0, 1, shape)
    pairs = rng.integers(50, 110, len(document))[:, None, None] * np.ones(shape)
    columns = {"pairs": pairs, "distance_sum": distance * pairs, "distance_expected": 40 * pairs}
    return WindowTable(columns, document, (1,))


def test_intervals_cover_when_windows_of_a_document_are_alike():
    # 300 corpora of 40 documents x 5 windows: 95 % nominal; a percentile bootstrap of 40 clusters
    # covers a little less. The bound is three standard errors below 93 % and above 97 %.
    rng = np.random.default_rng(0)
    covered = 0
    for number in range(SIMULATIONS):
        table = simulated_table(rng, documents=40, windows=5, mean=30)
        samples = resample_run(table, seed=number, resamples=400).pooled(MEAN_DISTANCE)
        found = interval_of(samples)
        covered += found.low <= 30 <= found.high
    assert 0.89 <= covered / SIMULATIONS <= 0.99


def test_resampling_texts_instead_of_documents_would_not_cover():
    rng = np.random.default_rng(1)
    covered = 0
    for number in range(100):
        table = simulated_table(rng, documents=40, windows=5, mean=30)
        lone = WindowTable(table.columns, np.arange(table.windows), table.layers)
        samples = resample_run(lone, seed=number, resamples=200).pooled(MEAN_DISTANCE)
        found = interval_of(samples)
        covered += found.low <= 30 <= found.high
    assert covered < 80


def test_a_test_without_effect_rejects_about_one_time_in_twenty():
    rng = np.random.default_rng(2)
    rejected = 0
    for number in range(SIMULATIONS):
        table = simulated_table(rng, documents=50, windows=3, mean=30)
        samples = resample_run(table, seed=number, resamples=300).per_head(MEAN_DISTANCE)
        rejected += upper_p_values(samples[0], samples[1:], 30.0)[0] < 0.05
    assert 0.02 <= rejected / SIMULATIONS <= 0.09


def test_a_planted_effect_is_found():
    rng = np.random.default_rng(3)
    found = 0
    for number in range(50):
        table = simulated_table(rng, documents=50, windows=3, mean=32)
        samples = resample_run(table, seed=number, resamples=200).pooled(MEAN_DISTANCE)
        found += interval_of(samples).low > 30
    assert found >= 48


def test_false_discoveries_stay_rare_among_many_heads():
    rng = np.random.default_rng(4)
    false_share = []
    for _ in range(SIMULATIONS):
        effect = np.where(np.arange(100) < 20, 4.0, 0.0)
        p_values = np.exp(-(np.maximum(rng.normal(effect, 1), 0) ** 2) / 2) * 0.5
        rejected = false_discovery(p_values)
        false_share.append(rejected[20:].sum() / max(rejected.sum(), 1))
    assert np.mean(false_share) <= 0.06


def test_false_discovery_is_the_procedure_of_benjamini_and_hochberg():
    rng = np.random.default_rng(5)
    for _ in range(50):
        p_values = rng.random(12) ** 2
        ordered = sorted(p_values)
        passing = [k for k in range(1, 13) if ordered[k - 1] <= 0.05 * k / 12]
        largest = max(passing, default=0)
        expected = [p in ordered[:largest] for p in p_values]
        assert false_discovery(p_values).tolist() == expected


def test_tests_without_a_p_value_do_not_count():
    p_values = np.array([0.01, np.nan, np.nan, np.nan])
    assert false_discovery(p_values).tolist() == [True, False, False, False]
    assert not false_discovery(np.array([np.nan])).any()
    assert false_discovery(np.array([])).size == 0


def test_windows_of_a_document_are_drawn_together():
    document = np.array([0, 0, 0, 1, 1, 2])
    for weights in document_weights(document, seed=0, resamples=50):
        assert (weights[:, 0] == weights[:, 1]).all()
        assert (weights[:, 3] == weights[:, 4]).all()


def test_one_document_falls_back_to_its_windows():
    weights = next(iter(document_weights(np.zeros(10, dtype=int), seed=0, resamples=50)))
    assert (weights.sum(1) == 10).all()
    assert len(np.unique(weights)) > 1


def test_sums_are_those_of_the_drawn_windows():
    rng = np.random.default_rng(6)
    values, document = rng.random((6, 2)), np.array([0, 1, 1, 2, 3, 3])
    weights = np.concatenate(list(document_weights(document, seed=9, resamples=20)))
    np.testing.assert_allclose(resampled_sums(values, document, 9, 20), weights @ values)


def test_what_cannot_be_resampled_has_no_interval():
    found = interval(1.0, np.full(100, np.nan))
    assert np.isnan(found.low)
    assert np.isnan(found.high)


def test_a_measure_without_expectation_is_not_asked_for_one():
    table = simulated_table(np.random.default_rng(0), 3, 2, 30)
    table.columns.update(norm=table.columns["pairs"], norm_texts=table.columns["pairs"])
    with pytest.raises(ValueError, match="no expectation"):
        resample_run(table, 0, 10).pooled_expected(NORM)
