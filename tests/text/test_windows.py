import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.errors import SettingsError
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text.document import Document, Word
from headscope.text.kinds import TokenKind, is_separator
from headscope.text.windows import count_windows, cut_windows, iter_windows
from tests.text import tiny_tokenizers

BERT = HeadscopeTokenizer(tiny_tokenizers.wordpiece(), max_tokens=512)
GPT = HeadscopeTokenizer(tiny_tokenizers.byte_level())
LLAMA = HeadscopeTokenizer(tiny_tokenizers.llama_like())
ALL = [BERT, GPT, LLAMA]

TEXT = "The cat sat. The dog did not sit! Did the words end?"


def cut(text, tokenizer=BERT, *, window_tokens=128, min_tokens=2, **marks):
    document = Document("d", text, **marks)
    return list(
        cut_windows(document, tokenizer, window_tokens=window_tokens, min_tokens=min_tokens)
    )


FRAGMENTS = [
    *"ab. !?\n\t,;'\"\0",
    *("the ", "cat", "\n\n", "x" * 300, "[SEP]", "<|end|>"),
    *(" שלום", " مرحبا", "日本語。", "हिन्दी", "ﬁ", "İ", "e\u0301"),
    *("😀", "👩\u200d👩\u200d👧", "\u2028", "\ufeff", "\u3000"),
]
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join) | st.text(max_size=80)


@pytest.mark.parametrize("tokenizer", ALL, ids=["wordpiece", "byte level", "llama"])
@settings(max_examples=150, deadline=None)
@given(text=texts, window_tokens=st.integers(6, 40))
def test_windows_hold_every_token_once_and_its_text(tokenizer, text, window_tokens):
    body_tokens = window_tokens - len(tokenizer.prefix_ids) - len(tokenizer.suffix_ids)
    encoding = tokenizer.encode(text)
    windows = cut(text, tokenizer, window_tokens=window_tokens)
    seen = []
    for window in windows:
        last = window.n_tokens - len(tokenizer.suffix_ids)
        seen += window.token_ids[len(tokenizer.prefix_ids) : last].tolist()
        assert window.n_tokens <= window_tokens
        for name in ("starts", "ends", "sentence_ids", "word_ids", "form_ids", "lemma_ids"):
            ids = getattr(window, name)
            assert ids.dtype == np.int32
            assert ids.shape == (window.n_tokens,) == (len(window.tokens),)
            if name != "lemma_ids":
                assert ((ids == -1) == window.special).all()
        for i in np.flatnonzero(~window.special):
            surface = window.tokens[i]
            assert surface == text[window.starts[i] : window.ends[i]]
            assert not surface.strip() or surface == surface.strip()
            assert window.separator[i] == is_separator(surface)
        for i in np.flatnonzero(window.special):
            assert window.tokens[i] == tokenizer.special_names[window.token_ids[i]]
        inner = window.sentence_ids[~window.special]
        if len(inner):
            assert sorted(set(inner)) == list(range(inner.max() + 1))
    remainder = len(encoding.token_ids) % body_tokens
    dropped = remainder if remainder < 2 else 0
    assert seen == encoding.token_ids[: len(encoding.token_ids) - dropped].tolist()


def test_a_window_counts_its_special_tokens():
    windows = cut("the cat " * 100, window_tokens=12)
    assert {window.n_tokens for window in windows[:-1]} == {12}
    assert windows[0].tokens[0] == "[CLS]"
    assert windows[0].tokens[-1] == "[SEP]"
    assert windows[1].starts[1] == windows[0].ends[-2] + 1


def test_a_short_rest_is_kept_from_the_minimum_on():
    text = " ".join(["cat"] * 25)
    assert [w.n_tokens for w in cut(text, window_tokens=12, min_tokens=5)] == [12, 12, 7]
    assert [w.n_tokens for w in cut(text, window_tokens=12, min_tokens=6)] == [12, 12]


def test_windows_never_cross_documents():
    documents = [Document("a", "the cat " * 8), Document("b", "the dog " * 8, label="pets")]
    windows = list(iter_windows(documents, BERT, window_tokens=20, min_tokens=2))
    assert [window.document for window in windows] == ["a", "b"]
    assert [window.label for window in windows] == [None, "pets"]


def test_a_limit_stops_reading_documents():
    read = []
    documents = (Document(str(i), "the cat sat on the mat") for i in range(100))
    windows = iter_windows(
        documents,
        BERT,
        min_tokens=2,
        limit=3,
        on_document=lambda document: read.append(document.id),
    )
    assert len(list(windows)) == 3
    assert read == ["0", "1", "2"]


def test_documents_without_a_window_are_not_told_of():
    told = []
    documents = [Document("a", "the cat sat"), Document("b", "cat"), Document("c", "the dog")]
    windows = iter_windows(documents, BERT, min_tokens=2, on_document=told.append)
    assert [window.document for window in windows] == ["a", "c"]
    assert [document.id for document in told] == ["a", "c"]


@pytest.mark.parametrize("tokenizer", ALL, ids=["wordpiece", "byte level", "llama"])
@settings(max_examples=60, deadline=None)
@given(text=texts, window_tokens=st.integers(6, 40), numbers=st.sets(st.integers(0, 9)))
def test_windows_are_counted_and_chosen_as_they_are_cut(tokenizer, text, window_tokens, numbers):
    document = Document("d", text)
    sizes = {"window_tokens": window_tokens, "min_tokens": 3}
    every = list(cut_windows(document, tokenizer, **sizes))
    assert count_windows(document, tokenizer, **sizes) == len(every)
    chosen = list(cut_windows(document, tokenizer, **sizes, only=numbers))
    expected = [window for number, window in enumerate(every) if number in numbers]
    assert [w.token_ids.tolist() for w in chosen] == [w.token_ids.tolist() for w in expected]
    assert [w.starts.tolist() for w in chosen] == [w.starts.tolist() for w in expected]


def test_sentences_are_numbered_from_zero_in_each_window():
    windows = cut(TEXT, window_tokens=9)
    for window in windows:
        assert window.sentence_ids[~window.special][0] == 0
    whole = cut(TEXT)[0]
    sentence_of = dict(zip(whole.tokens, whole.sentence_ids.tolist(), strict=True))
    assert (sentence_of["sat"], sentence_of["dog"], sentence_of["Did"]) == (0, 1, 2)
    assert (sentence_of["."], sentence_of["!"], sentence_of["?"]) == (0, 1, 2)


def test_gold_sentences_become_ids():
    window = cut("the cat sat the dog sat", sentences=((0, 11), (12, 23)))[0]
    assert window.sentence_ids.tolist() == [-1, 0, 0, 0, 1, 1, 1, -1]


def test_a_token_belongs_to_the_sentence_and_word_it_starts_in():
    # "words" is one token or more; the gold cut lies inside it.
    window = cut("the words", GPT, sentences=((0, 6), (6, 9)))[0]
    expected = [0 if start < 6 else 1 for start in window.starts]
    assert window.sentence_ids.tolist() == expected


def test_equal_words_share_a_form_and_equal_lemmas_a_lemma():
    text = "Cat cats THE the sat"
    spans = [(0, 3), (4, 8), (9, 12), (13, 16), (17, 20)]
    lemmas = ["cat", "cat", "the", "the", None]
    words = tuple(Word(a, b, lemma, None) for (a, b), lemma in zip(spans, lemmas, strict=True))
    window = cut(text, words=words)[0]
    word_of = [next((i for i, (a, b) in enumerate(spans) if a <= s < b), -1) for s in window.starts]
    for i, first in enumerate(word_of):
        for j, second in enumerate(word_of):
            if -1 in (first, second):
                continue
            written = [text[slice(*spans[k])].lower() for k in (first, second)]
            assert (window.word_ids[i] == window.word_ids[j]) == (first == second)
            assert (window.form_ids[i] == window.form_ids[j]) == (written[0] == written[1])
            if lemmas[first] is None:
                assert window.lemma_ids[i] == -1
            else:
                same = lemmas[first] == lemmas[second]
                assert (window.lemma_ids[i] == window.lemma_ids[j]) == same


def test_heads_name_words_of_the_window_or_the_word_itself():
    text = "aa bb cc dd ee ff"
    heads = [1, 5, 1, 3, None, 0]
    words = tuple(Word(3 * n, 3 * n + 2, None, None, head) for n, head in enumerate(heads))
    for window in cut(text, words=words, window_tokens=8, min_tokens=2):
        word_of = window.starts // 3  # in the document
        for i in np.flatnonzero(~window.special):
            head = heads[word_of[i]]
            if head is None:
                assert window.head_ids[i] == -1
                continue
            there = window.word_ids[(word_of == head) & ~window.special]
            assert window.head_ids[i] == (there[0] if len(there) else window.word_ids[i])
        assert (window.head_ids[window.special] == -1).all()


def test_without_gold_words_there_are_forms_but_no_lemmas():
    window = cut("Words, words and WORDS")[0]
    forms = {}
    for token, form in zip(window.tokens, window.form_ids.tolist(), strict=True):
        forms.setdefault(form, []).append(token)
    assert (window.lemma_ids == -1).all()
    start = window.form_ids[window.starts == 0][0]
    assert "".join(forms[start]).lower() == "words" * 3


def test_a_special_token_spelled_out_in_the_text_is_special():
    window = cut("the cat [SEP] the dog")[0]
    inside = window.tokens.index("[SEP]")
    assert window.n_tokens == 7
    assert window.kinds[inside] == TokenKind.SPECIAL_SEPARATOR
    assert window.starts[inside] == window.word_ids[inside] == -1


@pytest.mark.parametrize(
    ("tokenizer", "text", "kinds"),
    [
        (BERT, "the cat [SEP] the [PAD] dog", {"[CLS]": [0], "[SEP]": [7, 7], "[PAD]": [0]}),
        (GPT, "<|end|>the cat<|end|>the dog<|end|>", {"<|end|>": [0, 7, 7]}),
        (LLAMA, "the cat</s>the dog", {"<s>": [0], "</s>": [7]}),
    ],
    ids=["wordpiece", "byte level", "llama"],
)
def test_special_tokens_that_separate_texts_are_told_from_those_that_begin_one(
    tokenizer, text, kinds
):
    window = cut(text, tokenizer)[0]
    found = {}
    for token, kind, special in zip(window.tokens, window.kinds, window.special, strict=True):
        assert special == (kind in (0, 7))
        if special:
            found.setdefault(token, []).append(int(kind))
    assert found == kinds
    assert window.special_separator.sum() == sum(k == 7 for each in kinds.values() for k in each)


def test_a_document_without_tokens_has_no_windows():
    for tokenizer in ALL:
        assert cut("", tokenizer) == []
    assert cut(" \n ") == []


@pytest.mark.parametrize(
    ("window_tokens", "min_tokens", "message"),
    [
        (3, 2, "at least 4"),
        (513, 16, "at most 512"),
        (128, 1, "between 2 and 126"),
        (128, 127, "between 2 and 126"),
    ],
)
def test_sizes_without_meaning_are_refused(window_tokens, min_tokens, message):
    with pytest.raises(SettingsError, match=message):
        cut(TEXT, window_tokens=window_tokens, min_tokens=min_tokens)
    with pytest.raises(SettingsError, match=message):
        iter_windows([], BERT, window_tokens=window_tokens, min_tokens=min_tokens)


def test_a_limit_below_one_is_refused():
    with pytest.raises(SettingsError, match="at least 1"):
        iter_windows([], BERT, limit=0)
