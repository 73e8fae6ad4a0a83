"""The evaluation: boundaries are compared fairly, baselines are what they say."""

from itertools import pairwise

import numpy as np
import pytest

from headscope.errors import CorpusError
from headscope.segment.evaluation.baselines import (
    even_starts,
    punctuation_split,
    random_starts,
    visible_starts,
    word_boundaries,
)
from headscope.segment.evaluation.c99 import c99
from headscope.segment.evaluation.evaluate_sentences import (
    CONDITIONS,
    evaluate_sentences,
    gold_text,
)
from headscope.segment.evaluation.evaluate_topics import concatenate_passages, evaluate_topics
from headscope.segment.evaluation.peers import installed_peers
from headscope.segment.segmenter import Segmenter
from headscope.text.document import Document
from tests.segment.topics.test_find_topics import COOKING, FOOTBALL, SPACE

TEXT = "It rained.\n\nWe stayed at home. Nobody called! Why?"
GOLD = Document("a", TEXT, ((0, 10), (12, 30), (31, 45), (46, 50)))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_gold_starts_do_not_depend_on_white_space(condition):
    gold = gold_text(GOLD, condition)
    edges = [0, *gold.starts, None]
    joined = "".join(gold.text.split())
    pieces = [joined[a:b].lower().strip(".!?") for a, b in pairwise(edges)]
    assert pieces == ["itrained", "westayedathome", "nobodycalled", "why"]


def test_pieces_are_compared_by_visible_characters():
    assert visible_starts(["One. ", " ", "Two.\n", "Three"]) == [4, 8]
    assert word_boundaries("One. Two. Three", [4, 8]).tolist() == [True, True]
    assert word_boundaries("One. Two. Three", [8]).tolist() == [False, True]


@pytest.mark.parametrize("name", [name for name, _ in installed_peers()])
def test_every_peer_finds_plain_sentences_and_loses_nothing(name):
    split = dict(installed_peers())[name]
    text = "It rained all day. We stayed at home. Nobody called us at all."
    pieces = split(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert len(pieces) == 3


def test_baselines_by_hand():
    assert punctuation_split("One. Two!  Three") == ["One. ", "Two!  ", "Three"]
    assert even_starts(9, 3) == [3, 6]
    assert even_starts(2, 9) == [1]
    places = random_starts(50, 6, np.random.default_rng(0))
    assert len(set(places)) == 5
    assert all(0 < place < 50 for place in places)


def test_c99_finds_topics_that_share_words():
    sentences = [
        *["the cat chased another cat and a mouse"] * 6,
        *["stocks fell while bond markets rallied"] * 6,
        *["rain clouds and wind over the coast"] * 6,
    ]
    assert c99(sentences, 3) == [6, 12]
    assert c99(["one sentence"]) == []


def test_sentences_are_evaluated_beside_all_others(demo_model):
    table = evaluate_sentences(Segmenter(demo_model), [GOLD] * 2).set_index(["condition", "method"])
    assert table.loc[("as written", "nupunkt"), "f1"] == 1
    assert table.loc[("as written", "headscope"), "f1"] > 0.7
    assert table.loc[("one line", "punctuation"), "f1"] == 1
    assert table.loc[("bare", "punctuation"), "recall"] == 0
    assert table.loc[("bare", "none"), "f1"] == 0
    assert table.loc[("as written", "nupunkt"), "pk"] == 0


def test_sentences_without_gold_are_refused(demo_model):
    with pytest.raises(CorpusError, match="gold"):
        evaluate_sentences(Segmenter(demo_model), [Document("a", TEXT)])


def test_passages_come_from_different_documents_and_are_told_apart(demo_model):
    documents = [
        Document(str(number), " ".join(sentences))
        for number, sentences in enumerate([COOKING, SPACE, FOOTBALL])
    ]
    texts = concatenate_passages(documents, texts=3, passages=3, shortest=5, longest=5)
    assert all(sorted(text.starts) == [5, 10] for text in texts)
    assert all(len(set(text.sentences)) == 15 for text in texts)
    table = evaluate_topics(Segmenter(demo_model), texts).set_index("method")
    assert table.loc["headscope (n)", "f1"] > table.loc["random", "f1"]
    assert table.loc["none", "segments"] == 1
    assert {"C99", "TextTiling", "even"} <= set(table.index)


def test_too_few_documents_for_passages_are_refused():
    with pytest.raises(CorpusError, match="passages"):
        concatenate_passages([Document("a", TEXT)], passages=2)
