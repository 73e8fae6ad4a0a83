"""Chunks by the demo model: lossless, within limits, alone, in lists and in streams."""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.errors import SettingsError
from headscope.segment import stream
from headscope.segment.segmenter import Segmenter
from headscope.text.demo import read_demo
from tests.segment.test_segmenter import ANYTHING


@pytest.fixture(scope="module")
def segmenter(demo_model):
    return Segmenter(demo_model)


@pytest.fixture(scope="module")
def prose():
    return "\n\n".join(document.text for document in list(read_demo())[:2])[:4_000]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=ANYTHING, most=st.integers(4, 40), share=st.floats(0, 0.5), overlap=st.integers(0, 2))
def test_any_text_is_chunked_within_limits(segmenter, text, most, share, overlap):
    least = int((most - overlap) * share)
    count = segmenter.model.tokenizer.encode
    chunks = segmenter.chunk(text, max_tokens=most, min_tokens=least, overlap=overlap)
    ends = [0, *(chunk.end for chunk in chunks)]
    assert ends[-1] == len(text)
    assert sorted(set(ends)) == ends
    for chunk, before in zip(chunks, ends, strict=False):
        assert chunk.start <= before, "no character is left out"
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.tokens == len(count(chunk.text).token_ids) <= most
    if not overlap:
        assert "".join(chunk.text for chunk in chunks) == text


def test_chunks_are_whole_sentences_and_keep_topics_apart(segmenter):
    bread = ["Mix the flour with water.", "Add salt and yeast to the dough.", "Let the bread rise."]
    plane = ["The plane left at noon.", "The pilot flew over the sea.", "The flight landed late."]
    text = " ".join([*bread * 3, *plane * 3])
    sentences = {start for start, _ in segmenter.spans(text)}
    chunks = segmenter.chunk(text, max_tokens=100)
    assert {chunk.start for chunk in chunks} <= sentences
    assert text.index("The plane") in {chunk.start for chunk in chunks}
    by_sentence = segmenter.chunk(text, max_tokens=500, by="sentence")
    assert len(by_sentence) == 1


def test_options_of_the_constructor_hold_unless_a_call_changes_them(demo_model, prose):
    chosen = Segmenter(demo_model, "sentence", max_tokens=50, tokenizer=str.split)
    chunks = chosen.chunk(prose)
    assert max(chunk.tokens for chunk in chunks) <= 50
    assert all(chunk.tokens == len(chunk.text.split()) for chunk in chunks)
    assert len(chosen.chunk(prose, max_tokens=200)) < len(chunks)
    assert chosen.chunk([prose, ""]) == [chunks, []]
    assert len(chosen.split(prose, by="topic")) < len(chosen.split(prose))
    assert chosen.split(prose, n_segments=2) == Segmenter(demo_model, n_segments=2).split(prose)


def test_a_stream_of_chunks_loses_nothing_and_keeps_the_limits(segmenter, prose, monkeypatch):
    monkeypatch.setattr(stream, "TOPIC_BLOCK_CHARACTERS", 3_000)
    monkeypatch.setattr(stream, "LOOK_AHEAD_CHARACTERS", 500)
    pieces = [prose[first : first + 777] for first in range(0, len(prose), 777)]
    options = {"by": "sentence", "max_tokens": 60, "min_tokens": 10}
    chunks = list(segmenter.stream_chunks(pieces, **options))
    assert "".join(chunk.text for chunk in chunks) == prose
    assert all(chunk.text == prose[chunk.start : chunk.end] for chunk in chunks)
    assert all(10 <= chunk.tokens <= 60 for chunk in chunks)
    overlapping = list(segmenter.stream_chunks(pieces, overlap=20, **options))
    assert all(chunk.text == prose[chunk.start : chunk.end] for chunk in overlapping)
    repeated = [after.start < before.end for before, after in pairwise(overlapping)]
    assert all(repeated), "every chunk but the first repeats something, across blocks as well"


def test_a_megabyte_on_one_line_is_chunked(segmenter):
    text = ("x" * 799 + " ") * 1_250
    chunks = segmenter.chunk(text, max_tokens=2_000, by="sentence", tokenizer=len)
    assert "".join(chunk.text for chunk in chunks) == text
    assert max(chunk.tokens for chunk in chunks) <= 2_000


def test_a_number_of_chunks_and_unknown_options_are_refused(segmenter):
    with pytest.raises(SettingsError, match="n_segments"):
        segmenter.chunk("text", n_segments=3)
    with pytest.raises(TypeError, match="did you mean 'max_tokens'"):
        segmenter.chunk("text", max_token=3)
