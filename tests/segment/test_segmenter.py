"""The segmenter with the demo model: lossless on anything, the same alone, in lists, in pieces."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headscope as hs
from headscope.errors import ModelError, SettingsError
from headscope.models import linear_maps
from headscope.segment import stream
from headscope.segment.segmenter import Segmenter
from headscope.segment.training.bare_text import bare_text
from headscope.text.demo import read_demo

BARE = (
    "the train was late again this morning we waited for almost an hour on the platform nobody "
    "told us anything what can you do about it i will write a letter to the company tomorrow"
)


@pytest.fixture(scope="module")
def segmenter(demo_model):
    return Segmenter(demo_model)


@pytest.fixture(scope="module")
def by_topic(demo_model):
    return Segmenter(demo_model, "topic")


@pytest.fixture(scope="module")
def prose():
    return "\n\n".join(document.text for document in list(read_demo())[:3])


ANYTHING = st.one_of(
    st.text(max_size=300),
    st.text(alphabet="ab .!?\n\t\u3000\u00a0“”()", max_size=300),
    st.text(alphabet="שלום עולם. مرحبا؟ ", max_size=120),
    st.sampled_from(
        [
            "",
            " ",
            "      ",
            "a",
            ".",
            "\n\n\n",
            "   leading",
            "trailing   ",
            "x" * 3000,
            "。".join("你好" * 40),
        ]
    ),
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=ANYTHING)
def test_the_pieces_put_together_are_the_text(segmenter, text):
    pieces = segmenter.split(text)
    assert "".join(pieces) == text
    assert all(pieces)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=ANYTHING, n=st.integers(1, 5))
def test_topics_and_limits_lose_nothing_either(segmenter, by_topic, demo_model, text, n):
    assert "".join(by_topic.split(text)) == text
    limited = Segmenter(demo_model, max_length=40, min_length=5)
    pieces = limited.split(text)
    assert "".join(pieces) == text
    assert all(len(piece) <= 40 for piece in pieces)
    assert "".join(Segmenter(demo_model, n_segments=n).split(text)) == text


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, ("x" * 799 + " ") * 1_250],
    ids=["one word", "long words"],
)
def test_a_megabyte_on_one_line_loses_nothing(segmenter, text):
    """Words of more than a hundred letters are one token each: a megabyte is read in seconds."""
    assert "".join(segmenter.split(text)) == text


def test_sentences_of_plain_prose_are_found(segmenter):
    text = "Dr. Smith went home at 3 p.m. yesterday. He was tired! Was he? Yes."
    assert segmenter.split(text) == [
        "Dr. Smith went home at 3 p.m. yesterday. ",
        "He was tired! ",
        "Was he? ",
        "Yes.",
    ]


def test_the_mode_follows_the_punctuation_and_is_shown(segmenter, demo_model):
    assert segmenter.boundary_scores(BARE).mode == "unpunctuated"
    assert segmenter.boundary_scores("One is here. Two is there.").mode == "punctuated"
    forced = Segmenter(demo_model, mode="unpunctuated")
    assert forced.boundary_scores("One is here. Two is there.").mode == "unpunctuated"


def test_sentences_without_punctuation_are_found_far_above_chance(segmenter):
    document = list(read_demo())[5]
    from headscope.text.sentences import sentence_spans

    starts = [start for start, _ in sentence_spans(document)[1:]]
    bare = bare_text(document.text[:6000], [start for start in starts if start < 6000])
    found = {start for start, _ in segmenter.spans(bare.text)[1:]}
    hits = len(found & set(bare.starts))
    words = len(bare.text.split())
    assert 2 * hits / (len(found) + len(bare.starts)) > 0.4
    assert hits / len(found) > 5 * len(bare.starts) / words


def test_lists_give_what_single_texts_give(segmenter):
    texts = ["One thing. Another thing.", BARE, "", "A third text. It is short!"]
    assert segmenter.split(texts) == [segmenter.split(text) for text in texts]
    alone = segmenter.boundary_scores(texts[0], exact=True).probabilities
    together = segmenter.boundary_scores(texts, exact=True)[0].probabilities
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_rough_reading_finds_nearly_the_same_and_can_be_declined(segmenter, prose, monkeypatch):
    bare = bare_text(prose[:6_000], []).text
    monkeypatch.setattr(linear_maps, "can_be_rough", lambda: True)
    rough = segmenter.boundary_scores(bare).probabilities
    exact = segmenter.boundary_scores(bare, exact=True).probabilities
    monkeypatch.setattr(linear_maps, "can_be_rough", lambda: False)
    assert np.array_equal(segmenter.boundary_scores(bare).probabilities, exact)
    assert 0 < np.abs(rough - exact).max() < 0.2
    assert np.abs(rough - exact).mean() < 0.005


def test_there_is_no_seam_where_windows_meet(segmenter, prose):
    """Shifting all windows moves probabilities hardly, wherever the windows begin."""
    text = " ".join(prose.split())[:6000]
    before = "Some other words stand in front of it. "
    plain = segmenter.boundary_scores(text)
    shifted = segmenter.boundary_scores(before + text)
    later = shifted.characters > len(before)
    gap = np.abs(shifted.probabilities[later] - plain.probabilities)[20:]
    assert gap.mean() < 0.01
    assert (gap > 0.5).mean() < 0.005


def test_a_stream_loses_nothing_and_finds_the_same(segmenter, prose, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 4_000)
    text = prose[:12_000]
    pieces = [text[i : i + 777] for i in range(0, len(text), 777)]
    streamed = list(segmenter.stream(pieces))
    assert "".join(streamed) == text
    whole = set(segmenter.split(text))
    assert len(whole & set(streamed)) > 0.97 * len(whole)


def test_a_stream_without_boundaries_is_given_out_in_parts(segmenter, monkeypatch):
    monkeypatch.setattr(stream, "BLOCK_CHARACTERS", 3_000)
    monkeypatch.setattr(stream, "LONGEST_SEGMENT", 6_000)
    streamed = list(segmenter.stream("x" * 100 for _ in range(200)))
    assert "".join(streamed) == "x" * 20_000
    assert max(map(len, streamed)) <= 6_000


def test_blank_lines_end_sentences_unless_told_otherwise(segmenter, demo_model):
    text = "a heading without a mark\n\nand some words below it\n\nof the same kind"
    assert len(segmenter.split(text)) == 3
    free = Segmenter(demo_model, blank_lines=False, threshold=0.999)
    assert len(free.split(text)) == 1


def test_a_higher_threshold_cuts_less(demo_model):
    counts = [len(Segmenter(demo_model, threshold=t).split(BARE)) for t in (0.05, 0.5, 0.995)]
    assert counts[0] > counts[1] >= counts[2]


def test_explained_contributions_add_up_to_the_log_odds(segmenter):
    for text in (BARE, "It was late. Nobody came! So we went home."):
        table = segmenter.explain(text)
        scores = segmenter.boundary_scores(text)
        odds = dict(zip(scores.characters.tolist(), scores.log_odds.tolist(), strict=True))
        for boundary, rows in table.groupby("boundary"):
            assert rows["contribution"].sum() == pytest.approx(odds[boundary], abs=1e-3)
        heads = table[table["head"] > 0]
        assert set(heads["signal"]) == {"output", "contrast", "cut", "mass_before", "mass_after"}
        assert sorted(set(heads["layer"])) == list(segmenter.weights.layers)


def test_explaining_matches_taking_a_head_away(segmenter):
    """The largest contributions are those whose removal changes the log odds most."""
    text = "It was late. Nobody came! So we went home."
    table = segmenter.explain(text)
    assert (
        table.groupby("boundary")["contribution"].apply(lambda c: c.is_monotonic_decreasing).all()
    )
    base = table[table["signal"] == "base"]["contribution"].abs().max()
    assert table["contribution"].abs().sum() > base


def test_a_text_without_boundaries_has_nothing_to_explain(segmenter):
    assert segmenter.explain("one").empty


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"by": "word"}, "sentence, topic"),
        ({"mode": "loud"}, "punctuated"),
        ({"threshold": 1.5}, "threshold"),
        ({"min_length": -3}, "min_length"),
        ({"max_length": 0}, "max_length"),
    ],
)
def test_options_that_mean_nothing_are_refused(demo_model, options, named):
    with pytest.raises(SettingsError, match=named):
        Segmenter(demo_model, **options)


def test_the_package_has_the_segmenter():
    assert hs.Segmenter is Segmenter


def test_weights_of_another_model_are_refused(demo_model):
    with pytest.raises(ModelError, match=r"Segmenter\.fit"):
        Segmenter(demo_model.untrained(0))


def test_topics_of_punctuated_texts_need_no_weights(demo_model):
    """A bert whose weights nobody learned from: its topics mean nothing, but they are found."""
    topics = Segmenter(demo_model.untrained(0), "topic")
    text = "The cat sat. The dog ran. It was late. The train left. We went home. All slept."
    assert "".join(topics.split(text)) == text
    assert len(topics.topics(["The cat sat.", "The dog ran.", "It was late."], 3)) == 2
    with pytest.raises(ModelError, match=r"Segmenter\.fit"):
        topics.split(text.replace(".", "").lower() * 20)
