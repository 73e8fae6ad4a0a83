"""The sample of a run has as many documents as possible, and seeds read as many windows."""

import numpy as np
import pytest

from headscope.measuring.sample import choose_sample, share_of_seed

DOCUMENTS = [f"d{n % 7}" for n in range(30)] + ["long"] * 20


def test_every_document_has_a_window_before_any_has_two():
    for seed in range(20):
        chosen = choose_sample(DOCUMENTS, 8, seed)
        assert sorted(DOCUMENTS[place] for place in chosen) == sorted(set(DOCUMENTS))
        twelve = [DOCUMENTS[place] for place in choose_sample(DOCUMENTS, 12, seed)]
        counts = [twelve.count(name) for name in set(DOCUMENTS)]
        assert sorted(counts) == [1] * 4 + [2] * 4


def test_the_sample_is_sorted_and_has_no_window_twice():
    chosen = choose_sample(DOCUMENTS, 25, seed=3)
    assert len(chosen) == 25
    assert (np.diff(chosen) > 0).all()


def test_the_same_seed_gives_the_same_sample_and_another_does_not():
    first = choose_sample(DOCUMENTS, 20, seed=1)
    assert (choose_sample(DOCUMENTS, 20, seed=1) == first).all()
    assert (choose_sample(DOCUMENTS, 20, seed=2) != first).any()


def test_a_small_corpus_is_its_own_sample():
    assert choose_sample(["a", "b"], 200, seed=0).tolist() == [0, 1]
    assert choose_sample([], 5, seed=0).size == 0


def test_every_window_of_a_document_may_be_in_the_sample():
    first = {int(choose_sample(["a"] * 10, 1, seed)[0]) for seed in range(100)}
    assert first == set(range(10))


@pytest.mark.parametrize(("windows", "seeds"), [(20, 10), (40, 5), (7, 28)])
def test_seeds_read_disjoint_windows_while_there_are_enough(windows, seeds):
    sample = np.arange(0, 400, 2)
    shares = [share_of_seed(sample, windows, seed) for seed in range(seeds)]
    read = np.concatenate(shares)
    assert len(np.unique(read)) == len(read) == windows * seeds
    assert np.isin(read, sample).all()


def test_a_seed_reads_no_window_twice_where_one_round_ends():
    sample = np.arange(30)
    for seed in range(20):
        share = share_of_seed(sample, 20, seed)
        assert len(np.unique(share)) == 20
        assert (share == share_of_seed(sample, 20, seed)).all()


def test_later_rounds_mix_the_windows_anew():
    sample = np.arange(40)
    shares = {tuple(share_of_seed(sample, 20, seed)) for seed in range(10)}
    assert len(shares) == 10


def test_shares_of_later_rounds_lie_anywhere_in_the_sample():
    """Where a share runs over the end of a round, the rest is not taken from the front."""
    read = np.concatenate([share_of_seed(np.arange(30), 20, seed) for seed in range(300)])
    counts = np.bincount(read, minlength=30)
    assert counts.min() > 0.8 * counts.mean()
    assert counts.max() < 1.2 * counts.mean()


def test_a_sample_smaller_than_a_share_is_read_whole():
    sample = np.array([3, 5, 9])
    for seed in range(3):
        assert share_of_seed(sample, 20, seed).tolist() == [3, 5, 9]
