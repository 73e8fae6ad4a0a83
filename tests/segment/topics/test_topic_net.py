"""The network for topics: what it sees, that it learns, and when it is used."""

import numpy as np
import pytest
import torch

from headscope.errors import ModelError
from headscope.segment.reading.window_batches import text_tokenizer
from headscope.segment.topics.find_topics import TopicSettings, find_topics
from headscope.segment.topics.gap_features import (
    CHANNELS,
    NUMBERS,
    PAIRS,
    REACH,
    channel_statistics,
    gap_features,
    reverse_gaps,
    similarity_channels,
)
from headscope.segment.topics.sentence_similarity import sentence_vectors, word_overlap
from headscope.segment.topics.topic_net import (
    TopicNet,
    TopicNetFacts,
    load_topic_net,
    topic_net_for,
)
from headscope.segment.training.fit_boundary_net import TrainingSettings
from headscope.segment.training.fit_topic_net import TopicExample, fit_topic_net
from tests.segment.topics.test_find_topics import COOKING, FOOTBALL, SPACE, planted

FACTS = TopicNetFacts("planted", "0" * 64, "planted topics", hidden=16, depth=2)


def random_text(n, seed=0):
    rng = np.random.default_rng(seed)
    return [(m := rng.normal(size=(n, n))) + m.T for _ in range(CHANNELS)]


def example(seed):
    """A text of four planted topics; words are shared inside of a topic, if by chance."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 9, 4)
    vectors = planted(lengths, seed, noise=0.9)
    topic = np.repeat(np.arange(4), lengths)
    overlap = (topic[:, None] == topic) * rng.random((len(topic), len(topic)))
    return TopicExample(
        similarity_channels(vectors, (overlap + overlap.T) / 2),
        tuple(np.cumsum(lengths)[:-1].tolist()),
    )


@pytest.mark.parametrize("n", [2, 5, 30])
def test_a_gap_shows_all_pairs_around_it_in_units_of_what_is_usual(n):
    alike = random_text(n)
    usual, scale = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1.0, 2.0, 4.0])
    seen = gap_features(alike, usual, scale)
    assert seen.shape == (n - 1, NUMBERS)
    for gap in range(1, n):
        around = [
            sentence if 0 <= sentence < n else None for sentence in range(gap - REACH, gap + REACH)
        ]
        for channel in range(CHANNELS):
            standard = (alike[channel] - usual[channel].item()) / scale[channel].item()
            expected = [
                0.0
                if around[one] is None or around[other] is None
                else standard[around[one], around[other]]
                for one in range(2 * REACH)
                for other in range(one + 1, 2 * REACH)
            ]
            got = seen[gap - 1, channel * PAIRS : (channel + 1) * PAIRS]
            np.testing.assert_allclose(got, expected, atol=1e-5)
            near = [standard[i, j] for i in range(n) for j in range(i + 1, min(n, i + 2 * REACH))]
            whole = seen[gap - 1, NUMBERS - 2 * CHANNELS + 2 * channel :][:2]
            np.testing.assert_allclose(whole, [np.mean(near), np.std(near) - 1], atol=1e-5)
        there = seen[gap - 1, CHANNELS * PAIRS : CHANNELS * PAIRS + 2 * REACH]
        assert there.tolist() == [float(sentence is not None) for sentence in around]


def test_a_text_backwards_is_what_is_seen_of_its_sentences_in_that_order():
    alike = random_text(21)
    usual, scale = channel_statistics([alike])
    turned = gap_features([matrix[::-1, ::-1] for matrix in alike], usual, scale)
    torch.testing.assert_close(reverse_gaps(gap_features(alike, usual, scale)), turned)


def test_it_learns_planted_topics_and_finds_those_of_other_texts():
    net = fit_topic_net([example(seed) for seed in range(60)], FACTS, TrainingSettings(epochs=8))
    inside, at_starts = [], []
    for seed in range(1000, 1020):
        text = example(seed)
        odds = net.log_odds(text.similarities).numpy()
        starts = np.array(text.starts) - 1
        at_starts += odds[starts].tolist()
        inside += np.delete(odds, starts).tolist()
    assert np.mean([start > other for start in at_starts for other in inside]) > 0.95


def test_learning_again_gives_the_same(tmp_path):
    examples = [example(seed) for seed in range(6)]
    one, other = (fit_topic_net(examples, FACTS, TrainingSettings(epochs=1)) for _ in range(2))
    text = example(7).similarities
    assert torch.equal(one.log_odds(text), other.log_odds(text))
    one.save(tmp_path)
    again = load_topic_net(tmp_path)
    assert again.facts == FACTS
    torch.testing.assert_close(again.log_odds(text), one.log_odds(text), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("name", ["topics.json", "topics.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1]"])
def test_a_damaged_network_is_refused(name, content, tmp_path):
    fit_topic_net([example(1)], FACTS, TrainingSettings(epochs=1)).save(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match="topic network"):
        load_topic_net(tmp_path)


def test_the_network_that_comes_along_is_for_the_demo_model_alone(demo_model):
    net = topic_net_for(demo_model)
    assert net is not None
    assert topic_net_for(demo_model.untrained(0)) is None
    sentences = [*COOKING, *SPACE, *FOOTBALL]
    encodings = [text_tokenizer(demo_model).encode(sentence) for sentence in sentences]
    alike = similarity_channels(sentence_vectors(demo_model, encodings), word_overlap(encodings))
    likeliest = np.argsort(-net.log_odds(alike).numpy())[:2] + 1
    assert sorted(likeliest.tolist()) == [5, 10]


class Expects(TopicNet):
    """A network that is sure of one place."""

    def log_odds(self, alike):
        odds = torch.full((len(alike[0]) - 1,), -5.0)
        odds[7] = 5.0
        return odds


def test_cuts_go_where_a_network_expects_them():
    """Sentences that have nothing in common: nothing but the network speaks for a place."""
    vectors = np.random.default_rng(0).normal(size=(20, 64))
    nothing = np.zeros((20, 20))
    assert find_topics(vectors, nothing, TopicSettings(2)) != [8]
    assert find_topics(vectors, nothing, TopicSettings(2), Expects(FACTS)) == [8]
