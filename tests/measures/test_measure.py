"""Measures as values: one formula, whatever is summed over."""

import numpy as np
import pytest

from headscope.measures import MEASURES, TEXTS, Measure
from headscope.measures.measure import ratio


@pytest.fixture(params=MEASURES, ids=[measure.name for measure in MEASURES])
def measure(request) -> Measure:
    return request.param


def random_columns(measure: Measure, texts: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    names = {measure.numerator, measure.denominator, measure.expected} - {None}
    columns = {name: rng.integers(1, 100, (texts, 12)).astype(float) for name in sorted(names)}
    return columns | {TEXTS: np.ones((texts, 12))}


def summed(columns: dict[str, np.ndarray], texts) -> dict[str, np.ndarray]:
    return {name: values[texts].sum(0) for name, values in columns.items()}


def test_streaming_equals_one_shot(measure):
    """Sums of parts, added up in any grouping, give the value over all texts."""
    columns = random_columns(measure, 30)
    whole = measure.value(summed(columns, slice(None)))
    parts = [summed(columns, part) for part in np.split(np.arange(30), 5)]
    forward = {name: sum(part[name] for part in parts) for name in columns}
    backward = {name: sum(part[name] for part in parts[::-1]) for name in columns}
    np.testing.assert_allclose(measure.value(forward), whole)
    np.testing.assert_allclose(measure.value(backward), whole)


def test_it_is_the_ratio_of_its_columns(measure):
    columns = random_columns(measure, 30)
    sums = summed(columns, slice(None))
    for head in range(12):
        bottom = 30 if measure.denominator == TEXTS else sums[measure.denominator][head]
        assert measure.value(sums)[head] == pytest.approx(
            measure.scale * sums[measure.numerator][head] / bottom
        )


def test_nothing_counted_gives_nan_and_never_zero(measure):
    nothing = {name: np.zeros(12) for name in random_columns(measure, 1)}
    assert np.isnan(measure.value(nothing)).all()
    expected = measure.expected_value(nothing)
    assert expected is None or np.isnan(expected).all()


def test_it_says_what_it_is_and_when_it_misleads(measure):
    assert measure.definition.endswith(".")
    assert measure.misleads.endswith(".")
    assert measure.unit
    assert measure.source


def test_names_are_unique():
    names = [measure.name for measure in MEASURES]
    assert len(set(names)) == len(names)


def test_ratio_keeps_nan_and_broadcasts():
    quotient = ratio(np.array([1.0, 2.0, np.nan, 0.0]), np.array([2.0, 0.0, 1.0, 4.0]))
    np.testing.assert_array_equal(quotient, [0.5, np.nan, np.nan, 0.0])
    assert ratio(np.ones((2, 3)), 2.0).shape == (2, 3)
