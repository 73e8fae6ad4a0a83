"""Intervals must cover and tests must keep their level: shown by simulation."""

import numpy as np
import pytest

from headscope.findings.resampling.bootstrap import (
    Draws,
    draw_documents,
    effective_number,
    expansion,
    interval,
)
from headscope.findings.resampling.false_discovery import false_discovery, upper_p_values
from headscope.findings.resampling.resampled_run import (
    interval_of,
    mean_over_seeds,
    resample_part,
    resample_run,
)
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


@pytest.mark.parametrize("documents", [20, 40])
def test_intervals_cover_when_windows_of_a_document_are_alike(documents):
    # 95 % nominal; the bounds are 93 % and 97 %, and three standard errors of 300 simulations.
    rng = np.random.default_rng(0)
    covered = 0
    for number in range(SIMULATIONS):
        table = simulated_table(rng, documents=documents, windows=5, mean=30)
        samples = resample_run(table, seed=number, resamples=400).pooled(MEAN_DISTANCE)
        found = interval_of(samples, documents)
        covered += found.low <= 30 <= found.high
    assert 0.885 <= covered / SIMULATIONS <= 0.999


def test_resampling_texts_instead_of_documents_would_not_cover():
    rng = np.random.default_rng(1)
    covered = 0
    for number in range(100):
        table = simulated_table(rng, documents=40, windows=5, mean=30)
        lone = WindowTable(table.columns, np.arange(table.windows), table.layers)
        samples = resample_run(lone, seed=number, resamples=200).pooled(MEAN_DISTANCE)
        found = interval_of(samples, table.windows)
        covered += found.low <= 30 <= found.high
    assert covered < 80


def test_a_test_without_effect_rejects_about_one_time_in_twenty():
    rng = np.random.default_rng(2)
    rejected = 0
    for number in range(SIMULATIONS):
        table = simulated_table(rng, documents=50, windows=3, mean=30)
        samples = resample_run(table, seed=number, resamples=300).per_head(MEAN_DISTANCE)
        rejected += upper_p_values(samples[0] - 30, samples[1:] - 30, 50)[0] < 0.05
    assert 0.02 <= rejected / SIMULATIONS <= 0.09


def test_a_planted_effect_is_found():
    rng = np.random.default_rng(3)
    found = 0
    for number in range(50):
        table = simulated_table(rng, documents=50, windows=3, mean=32)
        samples = resample_run(table, seed=number, resamples=200).pooled(MEAN_DISTANCE)
        found += interval_of(samples, 50).low > 30
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
    """The sums of a run are those of its windows, each as often as its document was drawn."""
    table = simulated_table(np.random.default_rng(6), documents=4, windows=3, mean=30)
    run = resample_run(table, seed=9, resamples=20)
    drawn = draw_documents(4, seed=9, resamples=20).weights
    for sample in range(20):
        total = sum(
            drawn[sample, table.document[window]] * table.columns["distance_sum"][window, 0, 0]
            for window in range(table.windows)
        )
        assert run.summed("distance_sum")[1 + sample] == pytest.approx(total)
    assert run.summed("distance_sum")[0] == pytest.approx(table.columns["distance_sum"].sum())


def test_every_sample_has_as_many_documents_as_the_run():
    weights = draw_documents(7, seed=0, resamples=50).weights
    assert weights.shape == (50, 7)
    assert (weights.sum(axis=1) == 7).all()
    assert len(np.unique(weights, axis=0)) > 1
    assert (weights == draw_documents(7, seed=0, resamples=50).weights).all()


def test_sums_of_many_weights_are_made_in_parts_and_are_the_same(monkeypatch):
    draws = draw_documents(5, seed=1, resamples=230)
    values = np.random.default_rng(0).random((5, 3))
    whole = draws.sums(values)
    np.testing.assert_allclose(whole[0], values.sum(axis=0))
    np.testing.assert_allclose(whole[1:], draws.weights @ values)
    monkeypatch.setattr("headscope.findings.resampling.bootstrap._MOST_KEPT", 0)
    np.testing.assert_allclose(Draws(draws.weights, draws.numbers).sums(values), whole)


def test_a_part_is_drawn_along_with_the_whole():
    draws = draw_documents(6, seed=2, resamples=10)
    part = draws.of(np.array([1, 3, 4])).of(np.array([0, 2]))
    assert (part.weights == draws.weights[:, [1, 4]]).all()
    assert part.numbers.tolist() == [1, 4]
    first = draws.first(3)
    assert (first.weights == draws.weights[:3]).all()
    assert (first.numbers == draws.numbers).all()


def test_what_a_part_has_in_common_with_its_run_cancels():
    table = simulated_table(np.random.default_rng(7), documents=30, windows=2, mean=30)
    draws = draw_documents(30, seed=3, resamples=200)
    run = resample_part(table, draws)
    some = np.isin(table.document, [3, 8, 11, 20, 29])
    seen = {name: values[some] for name, values in table.columns.items()}
    part = resample_part(WindowTable(seen, table.document[some], (1,)), draws)
    beside = run.beside(part)
    assert beside.documents == 5
    np.testing.assert_allclose(beside.pooled(MEAN_DISTANCE), part.pooled(MEAN_DISTANCE))


def test_intervals_are_wider_for_few_documents_and_for_several_questions():
    samples = np.random.default_rng(8).normal(size=20_000)

    def width(documents: int, questions: int = 1) -> float:
        found = interval(0.0, samples, documents, questions=questions)
        return found.high - found.low

    # Student's quantiles, times the root of n / (n - 1): 2.093 at 20 documents, 1.972 at 200.
    assert width(20) / 2 == pytest.approx(2.093 * np.sqrt(20 / 19), abs=0.05)
    assert width(200) / 2 == pytest.approx(1.972 * np.sqrt(200 / 199), abs=0.05)
    assert width(200, questions=2) / 2 == pytest.approx(2.258, abs=0.08)


def test_an_end_is_the_sample_that_a_new_one_exceeds_as_often_as_is_wanted():
    """By counting: the ends lie beyond the true quantiles, on average over sets of samples."""
    rng = np.random.default_rng(11)
    outside = []
    for _ in range(400):
        found = interval(0.0, rng.random(200), 10**9)
        outside.append(found.low + 1 - found.high)
    # 5 % is wanted; quantiles of the samples themselves (k / m) would give 5.5 %
    assert np.mean(outside) == pytest.approx(0.05, abs=3.3 * np.std(outside) / 20)
    assert 3.3 * np.std(outside) / 20 < 0.004


def test_documents_of_unequal_weight_count_for_fewer():
    assert effective_number(np.full(20, 3)) == pytest.approx(20)
    assert effective_number(np.array([1, 0, 0])) == 1
    assert effective_number(np.array([], dtype=int)) == 0
    # As many equal documents have a mean of the same variance.
    rng = np.random.default_rng(12)
    weights = rng.integers(1, 9, size=50)
    means = (rng.normal(size=(20_000, 50)) * weights).sum(axis=1) / weights.sum()
    assert effective_number(weights) == pytest.approx(1 / means.var(), rel=0.05)


def test_a_mean_over_halves_takes_a_degree_of_freedom_more():
    samples = np.random.default_rng(13).normal(size=20_000)
    found = interval(0.0, samples, 20, groups=2)
    assert (found.high - found.low) / 2 == pytest.approx(2.101 * np.sqrt(20 / 18), abs=0.05)
    assert np.isnan(interval(0.0, samples, 2, groups=2).low)


def test_what_cannot_be_resampled_has_no_interval():
    for found in (interval(1.0, np.full(100, np.nan), 40), interval(1.0, np.zeros(100), 1)):
        assert np.isnan(found.low)
        assert np.isnan(found.high)


def seeds_over(
    rng: np.random.Generator, level: np.ndarray, seed_spread: float
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Ten seeds, each the mean of 20 of 200 documents with a level; and the level itself."""
    draws = draw_documents(200, seed=int(rng.integers(16)), resamples=300)

    def mean(documents: np.ndarray, values: np.ndarray) -> np.ndarray:
        of = draws.of(documents)
        return of.sums(values[:, None])[:, 0] / of.sums(np.ones((20, 1)))[:, 0]

    seeds, beside = [], []
    for share in np.split(rng.permutation(200), 10):
        own = level[share] + 0.3 * rng.normal(size=20) + seed_spread * rng.normal()
        seeds.append(mean(share, own))
        beside.append(mean(share, level[share]))
    return seeds, beside


@pytest.mark.parametrize("seed_spread", [0.0, 0.3, 3.0])
def test_the_mean_over_seeds_varies_as_much_as_its_samples_say(seed_spread):
    """Against the standard deviation over simulations, in which documents and seeds are new."""
    rng = np.random.default_rng(9)
    means, spreads = [], []
    for _ in range(150):
        seeds, beside = seeds_over(rng, rng.normal(size=200), seed_spread)
        samples = mean_over_seeds(seeds, beside)
        means.append(samples[0])
        spreads.append(np.quantile(np.abs(samples[1:] - samples[0]), 0.95))
        assert samples[0] == pytest.approx(np.mean([values[0] for values in seeds]))
    covered = np.mean(np.abs(means) <= spreads)
    # 3.3 standard errors around 93 and 97 %
    assert 0.86 <= covered <= 1.0
    if seed_spread == 3.0:
        # Ten seeds: Student's 2.26 of their standard error, on average.
        assert np.mean(spreads) == pytest.approx(2.26 * np.std(means), rel=0.25)


def test_errors_of_seeds_are_not_expanded_for_documents():
    """Seeds that say it all, read on 20 documents: Student's of ten seeds, and no more."""
    rng = np.random.default_rng(14)
    seeds = [np.full(5_001, level) for level in rng.normal(size=10)]
    plain = interval_of(mean_over_seeds(seeds), 10**9)
    few = interval_of(mean_over_seeds(seeds, expanded=expansion(20)), 20)
    assert expansion(20) == pytest.approx(2.093 / 1.96 * np.sqrt(20 / 19), abs=0.001)
    assert few.high - few.low == pytest.approx(plain.high - plain.low, rel=0.06)
    twice = interval_of(mean_over_seeds(seeds), 20)
    assert twice.high - twice.low > 1.08 * (plain.high - plain.low)


def test_documents_do_not_pass_for_seeds():
    """Seeds that differ only in the documents they read add no variance of their own."""
    rng = np.random.default_rng(10)
    alone, explained = [], []
    for _ in range(40):
        seeds, beside = seeds_over(rng, rng.normal(size=200), 0.0)
        plain = np.mean(seeds, axis=0)[1:].var()
        alone.append(mean_over_seeds(seeds)[1:].var() / plain)
        explained.append(mean_over_seeds(seeds, beside)[1:].var() / plain)
    assert np.mean(explained) < 1.1
    assert np.mean(alone) > 1.15


def test_a_measure_without_expectation_is_not_asked_for_one():
    table = simulated_table(np.random.default_rng(0), 3, 2, 30)
    table.columns.update(norm=table.columns["pairs"], norm_texts=table.columns["pairs"])
    with pytest.raises(ValueError, match="no expectation"):
        resample_run(table, 0, 10).pooled_expected(NORM)
