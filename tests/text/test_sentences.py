from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.text.document import Document
from headscope.text.sentences import sentence_spans, split_sentences

pieces = st.sampled_from(
    ["Dr. Smith went. ", "He left! ", "\n", "\n\n", " \n \n ", "a", ".", '." ', "  ", "。"]
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=25).map("".join) | st.text(max_size=60))
def test_sentences_cover_the_text_without_gaps(text):
    spans = list(split_sentences(text))
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)


def test_abbreviations_do_not_end_sentences():
    text = "Dr. Smith met Mrs. Jones at 3 p.m. on Monday. They talked."
    assert [text[a:b].strip() for a, b in split_sentences(text)] == [
        "Dr. Smith met Mrs. Jones at 3 p.m. on Monday.",
        "They talked.",
    ]


def test_a_blank_line_ends_a_sentence_and_a_line_break_does_not():
    text = "A heading\n \nThe first line\ngoes on here. Then more."
    assert [text[a:b].strip() for a, b in split_sentences(text)] == [
        "A heading",
        "The first line\ngoes on here.",
        "Then more.",
    ]


def test_gold_sentences_win_over_the_splitter():
    document = Document("d", "One. Two.", sentences=((0, 9),))
    assert sentence_spans(document) == [(0, 9)]
