"""Echoes: passages on different subjects differ, parts of a text that returns to one do not."""

import numpy as np
import pytest

from headscope.segment.topics.find_topics import segments_differ
from headscope.segment.topics.gap_features import unit_vectors

STARTS = [8, 16, 24]


def vectors_differ(vectors, starts):
    unit = unit_vectors(vectors)
    return segments_differ(unit @ unit.T, starts)


def passages(rng, repeated):
    """Four segments with a direction each; some sentences of the last are those of the first."""
    vectors = np.concatenate(
        [2 * rng.normal(size=50) + 3 * rng.normal(size=(8, 50)) for _ in range(4)]
    )
    vectors[24 : 24 + repeated] = vectors[:repeated] + 0.1 * rng.normal(size=(repeated, 50))
    return vectors


def by_definition(vectors, starts):
    """The same pair by pair, with the echo read off the sorted cosines."""
    edges = [0, *starts, len(vectors)]
    segment = [sum(i >= edge for edge in edges) for i in range(len(vectors))]
    inside, across = [], []
    for i, one in enumerate(vectors):
        for j in range(i):
            cosine = one @ vectors[j] / np.sqrt((one @ one) * (vectors[j] @ vectors[j]))
            (inside if segment[i] == segment[j] else across).append(cosine)
    usual = sum(across) / len(across)
    place = 0.99 * (len(across) - 1)
    below, above = sorted(across)[int(place)], sorted(across)[int(place) + 1]
    echo = below + (above - below) * (place % 1)
    share = (sum(inside) / len(inside) - usual) / (1 - usual)
    return share > ((echo - usual) / (1 - usual)) ** 2


@pytest.mark.parametrize("seed", range(5))
def test_echoes_make_segments_one_text(seed):
    assert vectors_differ(passages(np.random.default_rng(seed), 0), STARTS)
    assert not vectors_differ(passages(np.random.default_rng(seed), 8), STARTS)


def test_verdict_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    cases = [passages(rng, repeated) for repeated in range(9) for _ in range(4)]
    found = [vectors_differ(vectors, STARTS) for vectors in cases]
    assert found == [by_definition(vectors, STARTS) for vectors in cases]
    assert 5 < sum(found) < len(found) - 5


def test_cosines_that_are_all_close_to_one_tell_the_same():
    """A direction that all sentences share moves every cosine towards 1 by the same share."""
    rng = np.random.default_rng(1)
    for case in (passages(rng, repeated) for repeated in range(9)):
        unit = case / np.linalg.norm(case, axis=1, keepdims=True)
        shared = np.hstack([unit, np.full((len(unit), 1), 3.0)])
        assert vectors_differ(shared, STARTS) == vectors_differ(case, STARTS)


@pytest.mark.parametrize("starts", [[], [1, 2]])
def test_without_pairs_inside_and_across_nothing_stands_apart(starts):
    assert not segments_differ(np.eye(3), starts)
