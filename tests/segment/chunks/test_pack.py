"""Packing sentences into chunks: the best cuts, by brute force; limits kept on anything."""

import itertools
import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headscope.errors import SettingsError
from headscope.segment.chunks.cut_places import CHARACTER, SENTENCE, TOPIC, WORD, CutPlaces
from headscope.segment.chunks.limits import ChunkLimits
from headscope.segment.chunks.overlap import with_overlap
from headscope.segment.chunks.pack import pack
from headscope.segment.chunks.token_counter import token_counter


def words(text):
    return len(text.split())


def pieces_of_three(text):
    """Like a subword tokenizer: words in pieces of three letters."""
    return sum(math.ceil(len(word) / 3) for word in text.split())


def merging(text):
    """Neighbouring spaces merge, and the first word of a text costs one more: nothing adds up."""
    return len(re.findall(r"\S{1,4}|\s{1,4}", text)) + (len(text) > 0 and not text[0].isspace())


COUNTERS = st.sampled_from([words, pieces_of_three, len, merging])
TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="ab \n.", max_size=400),
    st.lists(st.text("abc", min_size=1, max_size=30), max_size=60).map(" ".join),
)


def sentence_places(text):
    starts = [found.start() for found in re.finditer(r"(?<=\.\s)\S", text)]
    return CutPlaces.of(starts, [SENTENCE] * len(starts))


@settings(max_examples=150, deadline=None)
@given(text=TEXTS, count=COUNTERS, room=st.integers(2, 60), share=st.floats(0, 0.5), data=st.data())
def test_limits_are_kept_and_nothing_is_lost(text, count, room, share, data):
    overlap = data.draw(st.integers(0, room // 2))
    limits = ChunkLimits(room, int((room - overlap) * share), overlap)
    assume(limits.room > 1)  # `merging` gives two tokens to a single letter
    places = sentence_places(text)
    spans = pack(text, places, limits, count)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    assert all(count(text[start:end]) <= limits.room for start, end in spans)
    if count is not merging:
        # Letters of more than one token cannot always be shared out; here every letter has one.
        too_small = [span for span in spans if count(text[slice(*span)]) < limits.min_tokens]
        assert not too_small or len(spans) == 1
    chunks = with_overlap(text, spans, places, limits, count)
    assert [chunk.end for chunk in chunks] == [end for _, end in spans]
    for chunk, (start, _) in zip(chunks, spans, strict=True):
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.start <= start
        assert chunk.tokens == count(chunk.text) <= limits.max_tokens
        assert count(text[chunk.start : start]) <= overlap


def test_a_cut_that_looks_too_small_by_sums_is_counted():
    """Spaces count for the word after them, so that sums lie."""
    text = "0" * 30 + "\r\r0"
    spans = pack(text, sentence_places(text), ChunkLimits(32, 16, 0), len)
    assert sorted(end - start for start, end in spans) == [16, 17]


def value(cuts, places, text, limits, count):
    """What `pack` maximises, written anew."""
    gains = dict(zip(places.characters.tolist(), places.gains.tolist(), strict=True))
    total = sum(gains[cut] for cut in cuts)
    for start, end in itertools.pairwise([0, *cuts, len(text)]):
        tokens = count(text[start:end])
        if tokens > limits.room or (tokens < limits.min_tokens and cuts):
            return -math.inf
        total -= (1 - tokens / limits.room) ** 2
    return total


@settings(max_examples=80, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=10),
    topics=st.lists(st.booleans(), min_size=10, max_size=10),
    limits=st.sampled_from([ChunkLimits(6), ChunkLimits(8, 2), ChunkLimits(12, 5)]),
)
def test_no_other_cuts_at_sentences_are_better(lengths, topics, limits):
    text = " ".join("w " * (length - 1) + "w." for length in lengths)
    starts = sentence_places(text).characters.tolist()
    gains = [TOPIC if topic else SENTENCE for topic in topics[: len(starts)]]
    places = CutPlaces.of(starts, gains)
    best = max(
        value(cuts, places, text, limits, words)
        for n in range(len(starts) + 1)
        for cuts in itertools.combinations(starts, n)
    )
    assume(best > -math.inf)  # otherwise sentences have to be cut
    cuts = [start for start, _ in pack(text, places, limits, words)[1:]]
    assert set(cuts) <= set(starts), "a sentence was cut without need"
    assert value(cuts, places, text, limits, words) == pytest.approx(best)


def test_topics_come_first_then_sentences_then_commas_then_words():
    text = "One two three. Four five six. Seven eight nine. Ten."
    starts = sentence_places(text).characters
    topic = CutPlaces(starts, np.array([SENTENCE, TOPIC, SENTENCE]))
    assert pack(text, topic, ChunkLimits(20), words) == [(0, 30), (30, len(text))]
    assert pack(text, sentence_places(text), ChunkLimits(20), words) == [(0, len(text))]
    long = "a b c, d e f g h"
    assert pack(long, CutPlaces.of([], []), ChunkLimits(6), words) == [(0, 7), (7, len(long))]
    assert WORD > 10 * CHARACTER


def test_a_letter_that_is_larger_than_a_chunk_is_refused_by_name():
    with pytest.raises(SettingsError, match="'é' alone has 2 tokens"):
        pack("éé", CutPlaces.of([], []), ChunkLimits(1), lambda text: len(text.encode()))


def test_accents_and_joined_emoji_stay_with_their_letters():
    text = "e\u0301" * 20 + "👩\u200d🚀" * 10
    spans = pack(text, CutPlaces.of([], []), ChunkLimits(7), len)
    assert all(text[start] not in "\u0301\u200d🚀" for start, _ in spans)


@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ((0,), "max_tokens: 0"),
        ((10, 6), "min_tokens 6"),
        ((10, -1), "min_tokens: -1"),
        ((10, 0, 10), "overlap 10"),
        ((10, 4, 4), "at most 3"),
    ],
)
def test_limits_that_cannot_be_kept_are_refused(limits, named):
    with pytest.raises(SettingsError, match=named):
        ChunkLimits(*limits)


def test_tokenizers_of_any_kind_count_the_same(demo_model, tmp_path):
    from tokenizers import Tokenizer

    own = demo_model.tokenizer
    text = "Supercalifragilistic words, isn't it? " * 60
    wanted = len(own.encode(text).token_ids)
    wordpiece = Tokenizer.from_file(str(demo_tokenizer_file()))
    wordpiece.enable_truncation(16)
    wordpiece.enable_padding(length=16)
    wordpiece.save(str(tmp_path / "tokenizer.json"))
    for tokenizer in (
        wordpiece,
        tmp_path,
        str(tmp_path / "tokenizer.json"),
        lambda given: own.encode(given).token_ids.tolist(),
        lambda given: len(own.encode(given).token_ids),
        transformers_tokenizer(),
    ):
        assert token_counter(tokenizer)(text) == wanted
    assert len(wordpiece.encode(text).ids) == 16, "the tokenizer that was given is unchanged"


def demo_tokenizer_file():
    from headscope.models.source import find_model

    return find_model("demo").path / "tokenizer.json"


def transformers_tokenizer():
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(demo_tokenizer_file().parent)


@pytest.mark.parametrize(
    ("tokenizer", "named"),
    [(3, "int can neither"), (lambda text: -1, "it gave -1"), ("nowhere.json", "nowhere.json")],
)
def test_what_counts_no_tokens_is_refused(tokenizer, named):
    with pytest.raises(SettingsError, match=named):
        token_counter(tokenizer)("text")
