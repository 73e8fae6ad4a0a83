"""Sums over crossing pairs, against a plain double loop."""

import numpy as np
import pytest
import torch

from headscope.kernels.crossing_pairs import CrossingPairs


def double_loop(vectors, point, edges, forms, sinks):
    """Sums and counts by variant, group and bin, pair by pair."""
    heads, n, _ = vectors.shape
    mean = vectors[:, ~sinks].mean(1, keepdims=True)
    centred = vectors - mean
    length = np.linalg.norm(centred, axis=-1, keepdims=True)
    cosine = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    sums = np.zeros((2, 3, heads, len(edges) - 1))
    counts = np.zeros((3, len(edges) - 1))
    for i in range(point):
        for j in range(point, n):
            for place in range(len(edges) - 1):
                if edges[place] <= j - i < edges[place + 1]:
                    groups = [0, 1]
                    if sinks[i] or sinks[j]:
                        groups = [2]
                    elif forms[i] == forms[j]:
                        groups = [0]
                    for group in groups:
                        counts[group, place] += 1
                        for variant, compared in enumerate((cosine, vectors)):
                            products = (compared[:, i] * compared[:, j]).sum(-1)
                            sums[variant, group, :, place] += products
    return sums, counts


@pytest.mark.parametrize(
    ("n", "point", "edges"),
    [
        (40, 20, [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40]),
        (41, 13, [1, 5, 20]),
        (41, 30, [3, 41]),
        (9, 1, [1, 2, 9]),
        (9, 8, [1, 4, 8, 9]),
    ],
)
@pytest.mark.parametrize("mean", [0.0, 30.0])
def test_sums_equal_a_double_loop(n, point, edges, mean):
    rng = np.random.default_rng(n + point)
    # A large common vector, as raw head outputs have it, is where digits would be lost.
    vectors = (rng.normal(size=(3, n, 5)) + mean).astype(np.float32)
    forms = rng.integers(0, 5, n)
    sinks = np.zeros(n, dtype=bool)
    sinks[[0, min(2, n - 1), n - 1]] = True
    pairs = CrossingPairs.of(point, edges, forms, sinks)
    sums, counts = double_loop(vectors.astype(np.float64), point, edges, forms, sinks)
    np.testing.assert_array_equal(pairs.counts, counts)
    got = pairs.sums(torch.from_numpy(vectors)).numpy()
    number = np.maximum(counts, 1)[None, :, None]
    np.testing.assert_allclose(got[0] / number[0], sums[0] / number[0], atol=1e-5)
    np.testing.assert_allclose(got[1] / number[0], sums[1] / number[0], rtol=1e-5, atol=1e-5)


def test_a_head_that_writes_one_vector_has_no_centred_similarity():
    pairs = CrossingPairs.of(4, [1, 8], np.arange(8), np.zeros(8, dtype=bool))
    sums = pairs.sums(torch.ones(1, 8, 3)).numpy()
    assert sums[0].max() == 0
    assert sums[1, 0, 0, 0] == pytest.approx(3 * 16)


def test_words_without_a_form_repeat_nothing():
    forms = np.array([1, -1, 2, 1, -1, 2])
    pairs = CrossingPairs.of(3, [1, 6], forms, np.zeros(6, dtype=bool))
    assert pairs.counts[:, 0].tolist() == [9, 7, 0]
