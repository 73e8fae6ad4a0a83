import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headscope.measuring.batch import batches
from headscope.runs.window_files import ARRAY_COLUMNS
from headscope.text.windows import Window


def window(n_tokens):
    marks = {name: np.zeros(n_tokens, dtype=np.int32) for name in ARRAY_COLUMNS}
    return Window(document="d", label=None, tokens=("x",) * n_tokens, **marks)


@given(st.lists(st.integers(2, 50), max_size=60), st.integers(1, 300))
def test_each_window_is_in_one_batch_within_the_budget(lengths, max_tokens):
    groups = batches([window(length) for length in lengths], max_tokens=max_tokens)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        padded = len(group) * max(lengths[index] for index in group)
        assert padded <= max_tokens or len(group) == 1


def test_like_lengths_go_together_and_keep_their_order():
    windows = [window(n) for n in (4, 10, 4, 10, 10)]
    many = windows * 10
    groups = [
        sorted(many[index].n_tokens for index in group) for group in batches(many, max_tokens=20)
    ]
    assert groups == [[10, 10]] * 15 + [[4] * 5] * 4
    assert batches(many, max_tokens=20)[:2] == [[1, 3], [4, 6]]


def test_few_batches_are_cut_so_that_four_threads_get_equal_shares():
    groups = batches([window(128)] * 48, max_tokens=2048)
    assert [len(group) for group in groups] == [12] * 4
    assert len(batches([window(128)] * 2, max_tokens=2048)) == 2
    assert batches([], max_tokens=2048) == []


def test_many_batches_are_as_large_as_they_may_be():
    groups = batches([window(128)] * 300, max_tokens=2048)
    assert [len(group) for group in groups] == [16] * 18 + [12]
