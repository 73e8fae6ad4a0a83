"""Long documents in stretches: nothing is lost, and windows stay where they were."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text import stretches as module
from headscope.text.document import Document, Word
from headscope.text.stretches import stretches
from headscope.text.windows import cut_windows
from tests.compare.tiny_bert import TEXTS, tokenizer_of_all

TEXT = "\n\n".join(" ".join(TEXTS[k % 6 : k % 6 + 2]) for k in range(40))


@given(st.text(alphabet="ab \n.", max_size=200), st.integers(2, 40))
def test_stretches_are_the_text_in_order_and_in_bounds(text, longest):
    parts = list(stretches(Document("id", text, label="news"), longest))
    assert "".join(part.document.text for part in parts) == text
    assert all(len(part.document.text) <= longest for part in parts)
    for part in parts:
        assert text[part.offset :].startswith(part.document.text)
        assert part.document.label == "news"


def test_texts_are_divided_between_paragraphs_where_there_are_any():
    assert all(
        part.document.text.endswith("\n\n")
        for part in list(stretches(Document("id", TEXT), 300))[:-1]
    )


def test_documents_with_gold_words_stay_whole():
    document = Document("id", TEXT, ((0, len(TEXT)),), (Word(0, 3, None, None),))
    assert [part.document for part in stretches(document, 100)] == [document]


def test_windows_of_a_divided_document_are_those_of_its_parts(monkeypatch):
    monkeypatch.setattr(module, "STRETCH_CHARACTERS", 500)
    tokenizer = HeadscopeTokenizer(tokenizer_of_all(), 128)
    document = Document("id", TEXT)
    whole = list(cut_windows(document, tokenizer, window_tokens=32, min_tokens=4))
    parts = list(stretches(document))
    assert len(parts) > 5
    expected = [
        (window, part.offset)
        for part in parts
        for window in cut_windows(part.document, tokenizer, window_tokens=32, min_tokens=4)
    ]
    assert len(whole) == len(expected)
    for window, (of_part, offset) in zip(whole, expected, strict=True):
        assert window.tokens == of_part.tokens
        places = [(start, end) for start, end in zip(of_part.starts, of_part.ends, strict=True)]
        moved = [(-1, -1) if start < 0 else (start + offset, end + offset) for start, end in places]
        assert list(zip(window.starts, window.ends, strict=True)) == moved
        for token, start, end in zip(window.tokens, window.starts, window.ends, strict=True):
            assert start < 0 or TEXT[start:end] == token


def test_memory_does_not_grow_with_the_document(monkeypatch):
    monkeypatch.setattr(module, "STRETCH_CHARACTERS", 1 << 13)
    tokenizer = HeadscopeTokenizer(tokenizer_of_all(), 128)
    peaks = []
    for times in (3, 3, 12):  # the first time fills caches
        document = Document("id", (TEXT + "\n\n") * times)
        tracemalloc.start()
        for _ in cut_windows(document, tokenizer, window_tokens=32, min_tokens=4):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]
