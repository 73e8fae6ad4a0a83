import warnings

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.errors import ModelError
from headscope.models.tokenizer import HeadscopeTokenizer, encode_in_pieces
from headscope.text.document import Document
from headscope.text.windows import cut_windows
from tests.text import tiny_tokenizers

TINY = {
    "wordpiece": tiny_tokenizers.wordpiece(),
    "byte level": tiny_tokenizers.byte_level(),
    "llama": tiny_tokenizers.llama_like(),
}
CHECKPOINTS = ["minilm", "mpnet", "bert12", "distilbert", "smollm2", "opusmt"]
TEXTS = [
    "The cat sat on the mat. It didn't move!",
    "Naïve “quotes” — 3.5 % of cafés, ﬁne.\n\nA new paragraph\twith  spaces ",
    "Emoji 😀👩‍👩‍👧, שלום עולם, 日本語の文。",
    "Ends with [SEP] and </s> and <|endoftext|> in the text.",
    "A very long word: " + "antidisestablishmentarianism" * 4,
]


def load(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Marian recommends a package that it does not need
        return transformers.AutoTokenizer.from_pretrained(path)


def assert_windows_read_like_the_tokenizer(tokenizer, text):
    wrapped = HeadscopeTokenizer(tokenizer)
    (window,) = cut_windows(Document("d", text), wrapped, window_tokens=400, min_tokens=2)
    assert window.token_ids.tolist() == tokenizer(text, truncation=False)["input_ids"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", TINY)
def test_one_window_has_the_ids_of_the_tokenizer(name, text):
    assert_windows_read_like_the_tokenizer(TINY[name], text)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_one_window_has_the_ids_of_the_real_tokenizer(name, checkpoint):
    tokenizer = load(checkpoint(name))
    for text in TEXTS:
        assert_windows_read_like_the_tokenizer(tokenizer, text)


@pytest.mark.parametrize("name", ["minilm", "smollm2", "opusmt"])
def test_offsets_of_real_tokenizers_give_back_the_words(name, checkpoint):
    tokenizer = HeadscopeTokenizer(load(checkpoint(name)))
    text = "The cat — a café cat — sat."
    (window,) = cut_windows(Document("d", text), tokenizer, min_tokens=2)
    inner = [
        token for token, special in zip(window.tokens, window.special, strict=True) if not special
    ]
    assert "".join(inner).replace(" ", "") == text.replace(" ", "")
    assert {"The", "cat", "sat", ".", "—"} <= set(inner)


@pytest.mark.parametrize("name", TINY)
@settings(max_examples=100, deadline=None)
@given(
    text=st.lists(
        st.sampled_from(["The cat ", "sat.", " words", "\n", "😀", " ", "it's"]), min_size=5
    )
    .map("".join)
    .filter(lambda text: len(text) > 20)
)
def test_offsets_lie_in_the_text_and_never_run_back(name, text):
    encoding = HeadscopeTokenizer(TINY[name]).encode(text)
    assert (encoding.starts >= 0).all()
    assert (encoding.starts <= encoding.ends).all()
    assert (encoding.ends <= len(text)).all()
    assert (encoding.starts[1:] >= encoding.starts[:-1]).all()


@pytest.mark.parametrize("name", TINY)
def test_a_long_text_in_pieces_has_the_tokens_of_the_whole(name):
    tokenizer = HeadscopeTokenizer(TINY[name])
    text = " ".join(f"{sample} {i}\n" for i in range(40) for sample in tiny_tokenizers.SAMPLE)
    whole = tokenizer.encode(text)
    for piece_characters in (301, 1000):
        pieces = encode_in_pieces(
            tokenizer.encode, text, piece_characters=piece_characters, overlap_characters=150
        )
        assert pieces.token_ids.tolist() == whole.token_ids.tolist()
        assert pieces.starts.tolist() == whole.starts.tolist()
        assert pieces.ends.tolist() == whole.ends.tolist()


def test_an_endless_word_in_pieces_still_ends():
    tokenizer = HeadscopeTokenizer(TINY["wordpiece"])
    pieces = encode_in_pieces(
        tokenizer.encode, "q" * 5000, piece_characters=300, overlap_characters=50
    )
    assert pieces.ends[-1] == 5000
    assert (pieces.starts[1:] >= pieces.starts[:-1]).all()


def test_truncation_and_padding_of_the_tokenizer_are_not_ours():
    tokenizer = tiny_tokenizers.wordpiece()
    tokenizer.backend_tokenizer.enable_truncation(5)
    tokenizer.backend_tokenizer.enable_padding(length=5)
    assert len(HeadscopeTokenizer(tokenizer).encode("the cat " * 50).token_ids) == 100


def test_the_fingerprint_tells_tokenizers_apart():
    prints = {HeadscopeTokenizer(tokenizer).fingerprint for tokenizer in TINY.values()}
    assert len(prints) == 3


def test_the_fingerprint_ignores_truncation():
    tokenizer = tiny_tokenizers.wordpiece()
    before = HeadscopeTokenizer(tokenizer).fingerprint
    tokenizer.backend_tokenizer.enable_truncation(5)
    assert HeadscopeTokenizer(tokenizer).fingerprint == before


def test_the_limit_is_the_smaller_of_model_and_tokenizer():
    tokenizer = tiny_tokenizers.wordpiece()
    assert HeadscopeTokenizer(tokenizer).max_tokens is None
    assert HeadscopeTokenizer(tokenizer, max_tokens=64).max_tokens == 64
    tokenizer.model_max_length = 32
    assert HeadscopeTokenizer(tokenizer, max_tokens=64).max_tokens == 32


@pytest.mark.parametrize(("limit", "expected"), [(32.0, 32), (float("inf"), None), (1e30, None)])
def test_a_limit_that_is_written_as_a_fraction_is_a_whole_number(limit, expected):
    tokenizer = tiny_tokenizers.wordpiece()
    tokenizer.model_max_length = limit
    found = HeadscopeTokenizer(tokenizer).max_tokens
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("limit", "why"), [(32.5, "no whole number"), (float("nan"), "at least")])
def test_a_limit_that_is_no_number_of_tokens_is_refused(limit, why):
    tokenizer = tiny_tokenizers.wordpiece()
    tokenizer.model_max_length = limit
    with pytest.raises(ModelError, match=why):
        HeadscopeTokenizer(tokenizer)


def test_padding_falls_back_to_zero():
    assert HeadscopeTokenizer(TINY["byte level"]).pad_id == 0
    assert HeadscopeTokenizer(TINY["wordpiece"]).pad_id == TINY["wordpiece"].pad_token_id


def test_a_slow_tokenizer_without_offsets_is_refused():
    with pytest.raises(ModelError, match="no character offsets"):
        HeadscopeTokenizer(transformers.ByT5Tokenizer())
