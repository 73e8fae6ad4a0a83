import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.text.document import Document
from headscope.text.words import document_words


def written(text):
    words = document_words(Document("d", text), np.array([0], dtype=np.int32))
    return [text[a:b] for a, b in zip(words.starts, words.ends, strict=True)]


@given(st.text(max_size=80))
def test_words_hold_every_character_but_space(text):
    assert "".join(written(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't stop, please", ["Don't", "stop", ",", "please"]),
        ("1,000.5 or v2", ["1,000.5", "or", "v2"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("日本語", ["日", "本", "語"]),
        ("l’été", ["l’été"]),  # noqa: RUF001
        ("well-known", ["well", "-", "known"]),
    ],
)
def test_words_of_many_scripts(text, words):
    assert written(text) == words


def test_forms_are_equal_where_the_lower_cased_words_are():
    words = document_words(Document("d", "The cat, the CAT"), np.array([0], dtype=np.int32))
    assert words.form_ids[[0, 1]].tolist() == words.form_ids[[3, 4]].tolist()
    assert len(set(words.form_ids.tolist())) == 3
