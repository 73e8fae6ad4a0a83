"""Where a number changes fastest: planted jumps are found, and noise is said to be unclear."""

import numpy as np
import pytest

from headscope.findings.learning import decades, fastest_change, pool_trainings
from headscope.findings.resampling.bootstrap import draw_documents

STEPS = (0, 10, 30, 100, 300, 1000)
DOCUMENTS = 40


def measured(curve, rng, *, trainings=1, noise=0.2, between=0.0):
    """A number of each training and step: documents that are odd at all steps, noise, seeds."""
    draws = draw_documents(DOCUMENTS, 0)
    of_documents = rng.normal(0, 0.5, (DOCUMENTS, 1))
    samples = []
    for _ in range(trainings):
        seed = between * rng.normal(size=(1, len(curve)))
        values = curve + seed + of_documents + rng.normal(0, noise, (DOCUMENTS, len(curve)))
        samples.append((draws.sums(values) / DOCUMENTS).T)
    return np.stack(samples)


@pytest.mark.parametrize("trainings", [1, 3])
@pytest.mark.parametrize(("place", "steps"), [(1, (0, 10)), (3, (30, 100)), (5, (300, 1000))])
def test_a_planted_jump_is_found(place, steps, trainings):
    curve = np.where(np.arange(len(STEPS)) < place, 2.0, 1.0)
    rng = np.random.default_rng(place)
    samples = measured(curve, rng, trainings=trainings, between=0.02)
    found = fastest_change(pool_trainings(samples), STEPS, DOCUMENTS)
    assert (found.start, found.end) == steps
    assert found.change.low < -1 < found.change.high < -0.5
    assert found.share > 0.95
    assert found.clear


@pytest.mark.parametrize(("trainings", "between"), [(1, 0.0), (3, 0.3)])
def test_noise_is_hardly_ever_clear(trainings, between):
    """At most 5 of 100 flat curves may look as if they changed at a certain step."""
    rng = np.random.default_rng(7)
    clear = 0
    for _ in range(100):
        samples = measured(np.zeros(len(STEPS)), rng, trainings=trainings, between=between)
        clear += fastest_change(pool_trainings(samples), STEPS, DOCUMENTS).clear
    assert clear <= 5


def test_an_even_slope_has_no_clear_step():
    """It changes beyond doubt, but nowhere faster than elsewhere."""
    curve = -decades(STEPS)
    samples = measured(curve, np.random.default_rng(1))
    found = fastest_change(pool_trainings(samples), STEPS, DOCUMENTS)
    assert found.change.high < 0
    assert not found.clear


def test_rates_are_per_decade():
    """The same change is faster over half a decade than over a whole one."""
    curve = np.array([0.0, 0.0, 0.5, 1.0])
    samples = np.tile(curve[:, None], (1, 50))
    found = fastest_change(samples, (0, 10, 100, 300), DOCUMENTS)
    assert (found.start, found.end) == (100, 300)
    assert found.per_decade == pytest.approx(0.5 / np.log10(3))


def test_steps_without_a_value_are_passed_over():
    samples = np.array([0.0, np.nan, 1.0])[:, None] * np.ones((1, 50))
    found = fastest_change(samples, (0, 10, 100), DOCUMENTS)
    assert (found.start, found.end) == (0, 100)
    assert fastest_change(samples[:2], (0, 10), DOCUMENTS) is None


def test_step_0_has_a_place():
    assert decades([0, 30, 300]).tolist() == [0, 1, 2]
    assert decades([0]).tolist() == [0]
