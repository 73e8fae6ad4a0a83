import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.kernels.cpu.jit.sift_rows import drop_below, gather_largest, kth_largest


def check(values: np.ndarray, k: int) -> None:
    out = np.empty_like(values)
    written = gather_largest(values.copy(), k, out)
    expected = np.sort(values)[::-1]
    assert written >= k
    for wanted in (k, (k + 1) // 2, 1):
        least = kth_largest(out[:written], wanted)
        assert least == expected[wanted - 1]
        written = drop_below(out[:written], least)
        np.testing.assert_array_equal(np.sort(out[:written])[::-1], expected[expected >= least])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=400), st.data())
def test_it_is_what_sorting_gives(values, data):
    array = np.array(values, dtype=np.float32)
    check(array, data.draw(st.integers(1, len(array))))


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(5000),
        np.concatenate([np.zeros(4000), [1e30]]),
        1 + 1e-7 * np.arange(3000),
        np.random.default_rng(0).lognormal(0, 8, 8000),
        np.repeat([1.0, 2.0, 3.0], 2000),
    ],
    ids=["equal", "outlier", "close", "skewed", "ties"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_holds_for_awkward_distributions(values, dtype):
    for k in (1, 80, 400):
        check(values.astype(dtype), k)


def test_few_more_than_asked_for_are_gathered_where_values_differ():
    values = np.random.default_rng(0).normal(size=8128).astype(np.float32)
    out = np.empty_like(values)
    assert 406 <= gather_largest(values, 406, out) <= 406 + 406 // 4 + 16
