"""The random sample: what is in it, how evenly it is drawn, and what drawing it costs."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headscope.text.document import Document
from headscope.text.sampling import draw_sample


def corpus(sizes):
    """Documents whose text says how many windows they have."""
    return [Document(str(place), str(size)) for place, size in enumerate(sizes)]


def windows_of(document):
    return int(document.text)


def drawn(sizes, texts, seed=0):
    """The sample as pairs of document and window."""
    sample = draw_sample(corpus(sizes), windows_of, texts, seed)
    pairs = [(int(d.document.id), window) for d in sample.documents for window in d.windows]
    assert sample.windows == len(pairs)
    return pairs


sizes = st.lists(st.integers(0, 6), max_size=30)


@given(sizes, st.integers(1, 60), st.integers(0, 99))
def test_a_sample_has_as_many_windows_as_asked_or_all(sizes, texts, seed):
    every = [(place, window) for place, size in enumerate(sizes) for window in range(size)]
    pairs = drawn(sizes, texts, seed)
    assert len(pairs) == min(texts, len(every))
    assert set(pairs) <= set(every)
    assert pairs == sorted(set(pairs)), "each once, in the order of the corpus"


@given(sizes, st.integers(1, 60), st.integers(0, 99))
def test_a_sample_has_as_many_documents_as_possible(sizes, texts, seed):
    taken = Counter(place for place, _ in drawn(sizes, texts, seed))
    with_windows = sum(size > 0 for size in sizes)
    assert len(taken) == min(texts, with_windows)
    if len(taken) == with_windows:
        most = max(taken.values(), default=0)
        for place, size in enumerate(sizes):
            assert taken[place] >= min(size, most - 1), "a round takes one of each that has more"


@given(sizes, st.integers(1, 60))
def test_the_number_of_windows_is_known_where_every_document_was_counted(sizes, texts):
    counted = []

    def count(document):
        counted.append(document.id)
        return windows_of(document)

    sample = draw_sample(corpus(sizes), count, texts, seed=0)
    if sum(size > 0 for size in sizes) <= texts:
        assert sample.windows_available == sum(sizes)
        assert len(counted) == len(sizes)
    else:
        assert sample.windows_available is None


def test_seeds_give_different_samples_and_one_seed_the_same():
    samples = [tuple(drawn([3] * 50, 20, seed)) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]


def test_every_document_is_drawn_equally_often_wherever_it_is():
    """20 of 100 documents, some without windows, 2,000 times.

    A document is drawn in a binomial number of samples, and none may be 5 standard deviations off:
    one in 10,000 runs of this test would be, if the seeds were not fixed.
    """
    sizes = [0 if place % 10 == 3 else 1 + place % 4 for place in range(100)]
    share = 20 / sum(size > 0 for size in sizes)
    counts = Counter(place for seed in range(2000) for place, _ in drawn(sizes, 20, seed))
    for place, size in enumerate(sizes):
        expected = 2000 * share if size else 0
        assert abs(counts[place] - expected) <= 5 * np.sqrt(2000 * share * (1 - share)), place


def test_every_window_of_a_document_is_drawn_equally_often():
    counts = Counter(window for seed in range(2000) for _, window in drawn([7], 2, seed))
    share = 2 / 7
    for window in range(7):
        assert abs(counts[window] - 2000 * share) <= 5 * np.sqrt(2000 * share * (1 - share))


def test_the_last_round_favours_no_part_of_the_corpus():
    """Ten documents give one window each, and five of them a second one."""
    seconds = Counter()
    for seed in range(2000):
        taken = Counter(place for place, _ in drawn([2] * 10, 15, seed))
        seconds.update(place for place, number in taken.items() if number == 2)
    assert sum(seconds.values()) == 5 * 2000
    for place in range(10):
        assert abs(seconds[place] - 1000) <= 5 * np.sqrt(500)


def test_models_with_different_tokenizers_read_the_same_documents():
    one, other = drawn([1] * 200, 30), drawn([9] * 200, 30)
    assert {place for place, _ in one} == {place for place, _ in other}


def test_no_more_documents_are_held_than_windows_are_asked_for():
    live = most = 0

    class Counted(Document):
        __slots__ = ()

        def __del__(self):
            nonlocal live
            live -= 1

    def stream():
        nonlocal live, most
        for place in range(3000):
            live += 1
            most = max(most, live)
            yield Counted(str(place), "2")

    sample = draw_sample(stream(), windows_of, 40, seed=0)
    assert len(sample.documents) == 40
    assert most <= 40 + 3, "besides the one that is read, at most the one before it is still there"


def test_few_documents_of_a_large_corpus_are_tokenised():
    """Expected are N (1 + ln(D / N)): each document enters with probability N / its place."""
    counted = 0

    def count(document):
        nonlocal counted
        counted += 1
        return 1

    documents = (Document(str(place), "1") for place in range(20_000))
    draw_sample(documents, count, 50, seed=0)
    expected = 50 * (1 + np.log(20_000 / 50))
    assert 0.7 * expected < counted < 1.3 * expected
