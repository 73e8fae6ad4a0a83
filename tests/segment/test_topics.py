"""Topics: the best cuts of all, and no more than shuffled sentences would justify."""

from itertools import combinations

import numpy as np
import pytest

from headscope.errors import SettingsError
from headscope.segment.metrics import boundaries_at, pk
from headscope.segment.segmenter import Segmenter
from headscope.segment.topics import TopicSettings, find_topics

COOKING = [
    "Chop the onions and fry them in butter.",
    "Add the garlic and the tomatoes to the pan.",
    "Let the sauce simmer for twenty minutes.",
    "Boil the pasta in salted water.",
    "Serve the pasta with the sauce and some cheese.",
]
SPACE = [
    "The probe entered orbit around Mars last night.",
    "Its antenna sends pictures of the planet back to Earth.",
    "Engineers will fire the rocket engine again in May.",
    "The spacecraft carries instruments that study the Martian atmosphere.",
    "A second satellite is to follow the first into orbit.",
]
FOOTBALL = [
    "The striker scored twice in the second half.",
    "The referee showed the goalkeeper a red card.",
    "Their coach was pleased with the match.",
    "The team now leads the league by three points.",
    "Fans cheered when the captain lifted the cup.",
]


def planted(lengths, seed, noise=0.6):
    """Vectors of segments: a direction of its own for each, and noise."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=20) + noise * rng.normal(size=(n, 20)) for n in lengths])


def belonging(vectors, cuts):
    """How much sentences of one segment belong together, by the definition: pair by pair."""
    centred = vectors - vectors.mean(0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    between = np.pad(unit, ((1, 1), (0, 0)))
    smooth = unit + 0.2 * between[:-2] + 0.2 * between[2:]
    parts = np.split(smooth / np.linalg.norm(smooth, axis=1, keepdims=True), cuts)
    return sum(
        2 * sum(one @ other - 0.2 for one, other in combinations(part, 2)) / len(part) ** 0.7
        for part in parts
    )


def test_no_other_cuts_keep_more_together():
    """Among all cuts into segments of three sentences, or as many as there is room for."""
    for seed in range(5):
        vectors = np.random.default_rng(seed).normal(size=(9, 4))
        for segments in (2, 3, 4):
            found = find_topics(vectors, TopicSettings(segments))
            shortest = min(3, 9 // segments)
            everything = [
                cuts
                for cuts in combinations(range(1, 9), segments - 1)
                if np.diff([0, *cuts, 9]).min() >= shortest
            ]
            best = max(belonging(vectors, list(cuts)) for cuts in everything)
            assert belonging(vectors, found) == pytest.approx(best)


def test_planted_segments_and_their_number_are_found():
    for seed in range(5):
        vectors = planted([6, 9, 5, 8, 7], seed)
        assert find_topics(vectors, TopicSettings()) == [6, 15, 20, 28]


def test_sentences_without_order_are_one_topic():
    alone = [
        find_topics(np.random.default_rng(seed).normal(size=(30, 20)), TopicSettings())
        for seed in range(8)
    ]
    assert sum(found == [] for found in alone) >= 7


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_sentences_are_one_topic(n):
    assert find_topics(np.zeros((n, 4)), TopicSettings()) == []


def test_equal_sentences_are_one_topic():
    assert find_topics(np.ones((9, 4)), TopicSettings()) == []


def test_a_number_below_one_is_refused():
    with pytest.raises(SettingsError, match="n_segments"):
        TopicSettings(0)


def test_real_topics_are_found(demo_model):
    segmenter = Segmenter(demo_model, "topic")
    sentences = [*COOKING, *SPACE, *FOOTBALL]
    assert segmenter.topics(sentences, 3) == [5, 10]
    reference = boundaries_at([5, 10], 15)
    assert pk(boundaries_at(segmenter.topics(sentences), 15), reference) < 0.2
    text = " ".join(sentences)
    assert "".join(segmenter.split(text)) == text
