"""Word overlap: rare words in common make sentences alike, words of every sentence do not."""

from collections import Counter
from math import log, sqrt

import numpy as np
import pytest

from headscope.segment.topics.sentence_similarity import word_overlap
from headscope.text.encoding import Encoding


def encoded(*sentences):
    return [Encoding(*(np.array(ids, dtype=np.int32) for _ in range(3))) for ids in sentences]


def by_definition(sentences):
    """The same sentence by sentence, over all tokens that there are."""
    tokens = sorted({token for sentence in sentences for token in sentence})
    weighted = []
    for sentence in sentences:
        counts = Counter(sentence)
        row = []
        for token in tokens:
            share = sum(token in other for other in sentences) / len(sentences)
            row.append((1 + log(counts[token])) * -log(share) if counts[token] else 0.0)
        weighted.append(row)
    lengths = [sqrt(sum(x * x for x in row)) for row in weighted]
    return [
        [
            sum(x * y for x, y in zip(one, other, strict=True)) / (a * b) if a * b else 0.0
            for other, b in zip(weighted, lengths, strict=True)
        ]
        for one, a in zip(weighted, lengths, strict=True)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_overlap_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    sentences = [rng.integers(1, 9, size=rng.integers(0, 7)).tolist() for _ in range(6)]
    np.testing.assert_allclose(
        word_overlap(encoded(*sentences)), by_definition(sentences), atol=1e-12
    )


def test_a_rare_word_in_common_counts_more_than_a_frequent_one():
    overlap = word_overlap(encoded([1, 2, 30], [1, 2, 40], [1, 50, 30], [2, 60], [2, 70]))
    assert overlap[0, 2] > overlap[0, 1] > overlap[0, 3] > 0
    assert overlap[2, 3] == 0


def test_words_of_every_sentence_say_nothing():
    np.testing.assert_array_equal(word_overlap(encoded([7, 7], [7])), np.zeros((2, 2)))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_sentences_without_words_have_none_in_common(n):
    np.testing.assert_array_equal(word_overlap(encoded(*[[]] * n)), np.zeros((n, n)))
