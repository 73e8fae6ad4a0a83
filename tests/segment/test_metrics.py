"""Metrics agree with segeval, the reference implementation, on random segmentations."""

import math

import numpy as np
import pytest
import segeval

from headscope.segment.metrics import (
    BoundaryCounts,
    boundaries_at,
    boundary_similarity,
    count_boundaries,
    pk,
    window_diff,
)


def masses(boundaries: np.ndarray) -> tuple[int, ...]:
    """A segmentation as segeval writes it: the length of each segment."""
    edges = [0, *(np.flatnonzero(boundaries) + 1).tolist(), len(boundaries) + 1]
    return tuple(np.diff(edges).tolist())


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        gaps = rng.integers(3, 60)
        found.append((rng.random(gaps) < rng.random(), rng.random(gaps) < rng.random()))
    return [(a, b) for a, b in found if a.any() or b.any()]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (pk, segeval.pk),
        (window_diff, segeval.window_diff),
        (boundary_similarity, segeval.boundary_similarity),
    ],
    ids=["pk", "window_diff", "boundary_similarity"],
)
def test_metrics_agree_with_segeval(pairs, ours, theirs):
    assert len(pairs) > 250
    for found, reference in pairs:
        expected = float(theirs(masses(found), masses(reference)))
        assert ours(found, reference) == pytest.approx(expected, abs=1e-12)


def test_f1_by_hand():
    counts = count_boundaries([3, 7, 9], [3, 9, 12, 20])
    assert (counts.precision, counts.recall) == (2 / 3, 2 / 4)
    assert counts.f1 == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert counts + BoundaryCounts() == counts


def test_nothing_to_find_is_no_number():
    empty = BoundaryCounts()
    assert math.isnan(empty.f1)
    assert math.isnan(empty.precision)
    assert math.isnan(empty.recall)


def test_no_boundaries_agree_with_no_boundaries():
    nothing = boundaries_at([], 9)
    assert boundary_similarity(nothing, nothing) == 1
    assert pk(nothing, nothing) == 0
