"""Decoding finds the best segmentation of all, by trying them all."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.errors import SettingsError
from headscope.segment.sentences.decode import CutRules, LengthPrior, decode

PRIOR = LengthPrior(mean_log=1.2, deviation_log=0.6, weight=0.7)


def value(cuts, odds, threshold, prior):
    """The sum of log odds above the threshold plus what the prior gives each length."""
    edges = [0, *(cut + 1 for cut in cuts), len(odds) + 1]
    lengths = np.diff(edges)
    ratios = prior.log_ratios()
    over = np.log(threshold / (1 - threshold))
    return sum(odds[cut] - over for cut in cuts) + sum(ratios[length - 1] for length in lengths)


def cases():
    rng = np.random.default_rng(1)
    for _ in range(40):
        n = int(rng.integers(1, 9))
        places = np.cumsum(rng.integers(1, 9, size=n + 1))
        yield rng.normal(0, 2, n), places[:-1].astype(np.int64), int(places[-1])


def all_cuts(n):
    return [cuts for k in range(n + 1) for cuts in combinations(range(n), k)]


@pytest.mark.parametrize("limits", [(None, None), (6, None), (None, 20), (4, 18)])
def test_no_segmentation_is_better(limits):
    for odds, places, length in cases():
        rules = CutRules(*limits)

        def fits(cuts, rules=rules, places=places, length=length):
            sizes = np.diff([0, *places[list(cuts)], length])
            return sizes.min() >= (rules.min_length or 1) and sizes.max() <= (
                rules.max_length or 999
            )

        allowed = [cuts for cuts in all_cuts(len(odds)) if fits(cuts)]
        found = decode(odds, places, length, threshold=0.4, prior=PRIOR, rules=rules)
        if not allowed:
            assert np.diff([0, *found, length]).max() <= (rules.max_length or length)
            continue
        best = max(value(cuts, odds, 0.4, PRIOR) for cuts in allowed)
        cuts = tuple(np.searchsorted(places, found).tolist())
        assert cuts in allowed
        assert value(cuts, odds, 0.4, PRIOR) == pytest.approx(best)


def test_hard_breaks_are_always_made():
    odds, places = np.full(5, -9.0), np.arange(1, 6, dtype=np.int64) * 10
    hard = np.array([False, True, False, False, True])
    found = decode(odds, places, 60, threshold=0.5, prior=PRIOR, rules=CutRules(), hard=hard)
    assert found == [20, 50]


@given(st.integers(1, 12), st.integers(0, 10), st.integers(0, 99))
def test_a_number_of_segments_is_kept_to(wanted, n, seed):
    odds = np.random.default_rng(seed).normal(size=n)
    places = np.arange(1, n + 1, dtype=np.int64) * 7
    rules = CutRules(n_segments=wanted)
    found = decode(odds, places, 7 * n + 7, threshold=0.5, prior=PRIOR, rules=rules)
    assert len(found) == min(wanted - 1, n)
    assert found == sorted(set(found))


def test_a_word_longer_than_the_longest_segment_is_cut():
    nothing = np.zeros(0), np.zeros(0, dtype=np.int64)
    found = decode(*nothing, 100, threshold=0.5, prior=PRIOR, rules=CutRules(max_length=30))
    assert np.diff([0, *found, 100]).max() <= 30


def test_limits_that_leave_no_room_are_refused():
    with pytest.raises(SettingsError, match="at least twice"):
        CutRules(min_length=10, max_length=15)
    with pytest.raises(SettingsError, match="n_segments"):
        CutRules(n_segments=0)
