"""Bands by swapping: they exclude zero in no more than 5 % of studies without a difference."""

import numpy as np
import pytest

from headscope.findings.reach.extent import largest_distances
from headscope.findings.resampling.swap_bands import swap_bands

TRIALS = 400


def differences_without_excess(units, rng, *, heavy):
    """Differences of pairs of documents whose halves are exchangeable, for many studies at once.

    Bins of a document go up and down together, and have few values or heavy tails.
    """
    own = rng.standard_t(2.5, (units, TRIALS, 9)) if heavy else rng.normal(size=(units, TRIALS, 9))
    return own + 2 * rng.normal(size=(units, TRIALS, 1))


@pytest.mark.parametrize("units", [10, 16])
@pytest.mark.parametrize("heavy", [False, True])
def test_without_excess_a_distance_is_reported_in_at_most_5_percent_of_studies(units, heavy):
    rng = np.random.default_rng(units + heavy)
    bands = swap_bands(differences_without_excess(units, rng, heavy=heavy))
    outside = ((bands.low > 0) | (bands.high < 0)).any(1).mean()
    found = largest_distances(bands, range(1, 11))
    reported = sum(distance is not None for distance in found) / TRIALS
    # Three standard errors of 400 trials: 0.05 + 3 * 0.011.
    assert outside <= 0.083
    assert reported <= 0.05
    assert outside > 0.01, "bands that never exclude anything would pass, too"


def test_bands_that_look_at_each_bin_alone_would_be_too_narrow():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(16, TRIALS, 9))
    together = swap_bands(values)
    alone = swap_bands(values.reshape(16, -1, 1))
    narrow = (alone.low.reshape(TRIALS, 9) > 0).any(1).mean()
    assert narrow > 0.12 > 0.05 >= together.above.any(1).mean()


def test_an_excess_is_found_where_it_is():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(16, 1, 9)) * 0.1
    values[:, :, 4] += 1
    bands = swap_bands(values)
    assert np.flatnonzero(bands.above[0]).tolist() == [4]
    assert bands.p_values[0] < 0.01
    np.testing.assert_allclose(bands.mean[0], values[:, 0].mean(0))


def test_p_values_of_few_pairs_are_those_of_all_patterns_of_signs():
    values = np.array([1.0, 2.0, 3.0, 4.0])[:, None, None]
    # Of the 16 patterns only the one that was seen, and its opposite, are as far from zero.
    assert swap_bands(values).p_values[0] == pytest.approx(2 / 16)


def test_bins_that_most_pairs_lack_have_no_band():
    values = np.random.default_rng(2).normal(size=(10, 1, 2))
    values[:6, 0, 1] = np.nan
    bands = swap_bands(values)
    assert np.isfinite(bands.mean[0, 0])
    assert np.isnan(bands.mean[0, 1])
    assert np.isnan(bands.low[0, 1])
