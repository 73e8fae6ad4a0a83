import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.measuring.labels import permute_sentences


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 1000))
def test_sentences_keep_their_lengths_and_stay_in_one_piece(lengths, seed):
    ids = np.concatenate([[-1], np.repeat(np.arange(len(lengths)), lengths), [-1]])
    permuted = permute_sentences(ids, 5, np.random.default_rng(seed))
    assert (permuted[:, [0, -1]] == -1).all()
    for row in permuted[:, 1:-1]:
        changes = np.flatnonzero(np.diff(row)) + 1
        pieces = np.diff(np.concatenate([[0], changes, [len(row)]]))
        assert sorted(pieces) == sorted(lengths)


def test_random_orders_differ():
    ids = np.repeat(np.arange(10), 3)
    permuted = permute_sentences(ids, 20, np.random.default_rng(0))
    assert len({tuple(row) for row in permuted}) > 15
