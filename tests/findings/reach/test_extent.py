"""How far, and how it decays: curves whose answer is known."""

from itertools import pairwise

import numpy as np
import pytest

from headscope.findings.reach.decay import fit_decay
from headscope.findings.reach.extent import extents, holding_distance, largest_distances
from headscope.findings.resampling.swap_bands import swap_bands
from headscope.reach.plan import default_edges

EDGES = default_edges(512)
DISTANCES = np.arange(1, 512)


def in_bins(curve):
    """The mean of a curve in each bin, each distance with as many pairs as cross the middle."""
    pairs = np.minimum(DISTANCES, 512 - DISTANCES)
    inside = [(low <= DISTANCES) & (high > DISTANCES) for low, high in pairwise(EDGES)]
    return np.array([(curve * pairs)[one].sum() / pairs[one].sum() for one in inside])


def study(curve, noise=0.01, units=16, seed=0):
    """Differences of pairs of documents around a curve."""
    rng = np.random.default_rng(seed)
    bins = in_bins(curve)
    return bins[None, None] + noise * rng.normal(size=(units, 1, len(bins)))


def test_distances_that_hold_half_and_most_of_a_known_curve():
    # Constant up to a bin's end at 255: half is within 128 tokens, nine tenths within 230.
    means = in_bins(np.where(DISTANCES < 256, 1.0, 0.0))[None]
    half, most = holding_distance(means, EDGES, np.array([0.5, 0.9]))[0]
    assert half == pytest.approx(127.5)
    assert most == pytest.approx(229.5)


def test_a_curve_without_a_positive_sum_holds_nothing():
    assert np.isnan(holding_distance(np.array([[-1.0, 0.5]]), [1, 2, 3], np.array([0.5]))).all()


def test_the_largest_distance_is_where_the_excess_ends():
    differences = study(np.where(DISTANCES < 96, 0.5, 0.0))
    (extent,) = extents(differences, swap_bands(differences), EDGES)
    assert extent.largest == 64
    assert extent.half.low < 48 < extent.half.high


def test_fewer_than_twenty_documents_answer_nothing():
    differences = study(np.ones(511), units=9)
    assert largest_distances(swap_bands(differences), EDGES) == [None]


@pytest.mark.parametrize("exponent", [0.3, 1.0])
def test_a_power_law_is_told_from_an_exponential(exponent):
    decay = fit_decay(study(DISTANCES**-exponent)[:, 0], EDGES, 256, 512)
    assert decay.better == "power law"
    assert decay.exponent.low <= exponent + 0.02
    assert decay.exponent.high >= exponent - 0.02
    assert decay.misfit < 3


@pytest.mark.parametrize("length", [10.0, 80.0])
def test_an_exponential_is_told_from_a_power_law(length):
    decay = fit_decay(study(np.exp(-DISTANCES / length))[:, 0], EDGES, 256, 512)
    assert decay.better == "exponential"
    assert decay.length.low * 0.95 <= length <= decay.length.high * 1.05
    assert decay.misfit < 3


def test_noise_decides_for_neither():
    decay = fit_decay(study(np.full(511, 0.05), noise=1.0)[:, 0], EDGES, 256, 512)
    assert decay.better == "undecided"
