"""Topics: the best cuts of all, no more than shuffled sentences justify, none between echoes."""

from itertools import combinations

import numpy as np
import pytest

from headscope.errors import SettingsError
from headscope.segment.metrics import boundaries_at, pk
from headscope.segment.segmenter import Segmenter
from headscope.segment.topics.find_topics import TopicSettings, find_topics

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
PARAKEETS = [
    "Which bird is the better pet, a parakeet or a finch?",
    "Finches are messy, and the cage of a finch smells after two days.",
    "You cannot hold a finch or pet it.",
    "A finch chirps all day, and two finches never stop.",
    "I gave my two finches away after a month.",
    "When you choose a parakeet, look for a young one with clean feathers.",
    "The stripes on the head of a young parakeet begin at the beak.",
    "A male parakeet has a blue cere, and a female one a brown cere.",
    "Two male parakeets get along, and two females fight.",
    "Put the cage next to the couch, and not in the sun.",
    "The cage needs two perches, a swing and a bath.",
    "Clean the floor of the cage every week, and the perches, too.",
    "Cover the cage with a cloth at night.",
    "To tame the bird, hold some millet in your hand.",
    "After two days it will eat the millet from your hand.",
    "Then put a finger in front of its feet and say up.",
    "When it steps on your finger, give it more millet.",
    "You cannot tame a finch with millet: it never sits on your hand.",
    "The cage of my finches was as messy as the cage of my parakeets is clean.",
    "So which bird is the better pet, a parakeet or a finch?",
]


def planted(lengths, seed, noise=0.6):
    """Vectors of segments: a direction of its own for each, and noise."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=20) + noise * rng.normal(size=(n, 20)) for n in lengths])


def topics_of(vectors, segments=None):
    """The topics of sentences that have no words in common."""
    return find_topics(vectors, np.zeros((len(vectors), len(vectors))), TopicSettings(segments))


def belonging(vectors, words, cuts):
    """How much sentences of one segment belong together, by the definition: pair by pair."""
    centred = vectors - vectors.mean(0)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.hstack([unit, np.sqrt(0.5) * words]) / np.sqrt(1.5)
    between = np.pad(unit, ((1, 1), (0, 0)))
    smooth = unit + 0.2 * between[:-2] + 0.2 * between[2:]
    parts = np.split(smooth / np.linalg.norm(smooth, axis=1, keepdims=True), cuts)
    return sum(
        2 * sum(one @ other - 0.2 for one, other in combinations(part, 2)) / len(part) ** 0.65
        for part in parts
    )


def test_no_other_cuts_keep_more_together():
    """Among all cuts into segments of three sentences, or as many as there is room for."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        vectors, words = rng.normal(size=(9, 4)), rng.exponential(size=(9, 6))
        words /= np.linalg.norm(words, axis=1, keepdims=True)
        for segments in (2, 3, 4):
            found = find_topics(vectors, words @ words.T, TopicSettings(segments))
            shortest = min(3, 9 // segments)
            everything = [
                cuts
                for cuts in combinations(range(1, 9), segments - 1)
                if np.diff([0, *cuts, 9]).min() >= shortest
            ]
            best = max(belonging(vectors, words, list(cuts)) for cuts in everything)
            assert belonging(vectors, words, found) == pytest.approx(best)


def test_planted_segments_and_their_number_are_found():
    for seed in range(5):
        vectors = planted([6, 9, 5, 8, 7], seed)
        assert topics_of(vectors) == [6, 15, 20, 28]


def halved_segments(seed):
    """Vectors of four segments of eight sentences whose halves differ, too."""
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(4):
        direction = rng.normal(size=20)
        for _ in range(2):
            own = direction + rng.normal(size=20)
            halves.append(own + rng.normal(size=(4, 20)))
    return np.concatenate(halves)


@pytest.mark.parametrize("seed", [1, 15, 28])
def test_the_number_gains_most_over_shuffled_sentences_less_a_little_a_cut(seed):
    """By the definition, pair by pair, in texts where the little changes the number."""
    vectors, nothing = halved_segments(seed), np.zeros((32, 32))
    rng = np.random.default_rng(0)
    kept = []
    for order in [np.arange(32), *(rng.permutation(32) for _ in range(5))]:
        cuts = [find_topics(vectors[order], nothing, TopicSettings(k)) for k in range(1, 11)]
        kept.append([belonging(vectors[order], nothing, some) for some in cuts])
    gains = np.array(kept) - np.array(kept)[:, :1]
    over_chance = gains[0] - gains[1:].mean(0)
    n_cuts = int(np.argmax(over_chance - 0.05 * np.arange(10)))
    assert n_cuts != np.argmax(over_chance)
    found = find_topics(vectors, nothing, TopicSettings(permutations=5))
    assert found == find_topics(vectors, nothing, TopicSettings(n_cuts + 1))


def test_shared_words_hold_sentences_together():
    """Vectors that say nothing, and words of which each segment has its own."""
    vectors = np.random.default_rng(0).normal(size=(24, 200))
    segment = np.repeat(np.arange(3), 8)
    words = 0.6 * (segment[:, None] == segment) + 0.4 * np.eye(24)
    assert find_topics(vectors, words, TopicSettings(3)) == [8, 16]


def test_sentences_without_order_are_one_topic():
    alone = [topics_of(np.random.default_rng(seed).normal(size=(30, 20))) for seed in range(8)]
    assert sum(found == [] for found in alone) >= 7


def test_segments_that_echo_each_other_are_one_topic():
    for seed in range(5):
        vectors = planted([6, 9, 5, 8, 7], seed)
        vectors[28:] = vectors[:7]
        vectors[20:25] = vectors[10:15]
        assert topics_of(vectors) == []
        assert len(topics_of(vectors, 5)) == 4


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_sentences_are_one_topic(n):
    assert topics_of(np.zeros((n, 4))) == []


def test_equal_sentences_are_one_topic():
    assert topics_of(np.ones((9, 4))) == []


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


def test_a_real_text_on_one_thing_is_one_topic(demo_model):
    assert Segmenter(demo_model, "topic").topics(PARAKEETS) == []
