import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.text.copies import CopyCounter, document_hash


@pytest.mark.parametrize(
    "other",
    [
        "the quick brown fox",
        "  The quick\n\nbrown\tfox...",
        "“THE” (quick) brown—fox!",
        "\uff34he quick brown fox",  # a full-width T
    ],
)
def test_case_space_and_punctuation_make_no_other_text(other):
    assert document_hash(other) == document_hash("The quick brown fox.")


@pytest.mark.parametrize(
    "other",
    [
        "The quick brown fox jumps.",  # differs only at its end
        "The quick brown foxes.",
        "The quick brown fox 2.",
        "The quickbrown fox.",
        "The quick + brown fox.",  # a symbol is no punctuation
    ],
)
def test_other_words_make_another_text(other):
    assert document_hash(other) != document_hash("The quick brown fox.")


def test_a_ligature_is_its_letters():
    assert document_hash("a \ufb01ne day") == document_hash("A fine day")


def test_vowel_signs_are_part_of_the_text():
    """They are neither letters nor punctuation to Python."""
    assert document_hash("कि") != document_hash("का")


def test_texts_of_punctuation_alone_are_compared_as_they_are():
    assert document_hash("!!!") != document_hash("???")
    assert len(document_hash("")) == 32


def test_a_lone_surrogate_has_a_hash():
    assert document_hash("a \ud800 b") != document_hash("a b")


@given(st.text(max_size=60))
def test_the_hash_is_that_of_letters_in_runs(text):
    """The oracle goes character by character."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = "".join(
        " " if c.isspace() or unicodedata.category(c).startswith("P") else c for c in folded
    )
    words = [word for word in spaced.split(" ") if word]
    if words:
        assert document_hash(text) == document_hash("  ".join(words))
        assert document_hash(text) != document_hash(" ".join([*words, "more"]))


def test_no_punctuation_is_missed():
    codes = range(sys.maxunicode + 1)
    marks = [chr(code) for code in codes if unicodedata.category(chr(code)).startswith("P")]
    # NFKC makes letters and accents of a few of them.
    plain = [mark for mark in marks if unicodedata.is_normalized("NFKC", mark)]
    assert len(plain) > 700
    assert {document_hash(f"a{mark}b") for mark in plain} == {document_hash("a b")}


@given(st.lists(st.sampled_from("abcdef")))
def test_copies_are_all_but_the_first_of_each_text(texts):
    counter = CopyCounter()
    for text in texts:
        counter.add(document_hash(text))
    assert counter.documents == len(texts)
    assert counter.copies == sum(number - 1 for number in Counter(texts).values())
