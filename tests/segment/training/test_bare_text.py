"""Text without punctuation and case, and where its sentences begin."""

from itertools import pairwise

import pytest

from headscope.segment.training.bare_text import bare_text


def sentences(text: str, starts: tuple[int, ...]) -> list[str]:
    edges = [0, *starts, len(text)]
    return [text[a:b].strip() for a, b in pairwise(edges)]


def test_punctuation_and_case_go_and_sentences_stay():
    text = "Well, he's HERE!  “Really?” -- Yes (3.5 km)."
    starts = [text.index("“"), text.index("Yes")]
    bare = bare_text(text, starts)
    assert bare.text == "well hes here really yes 35 km"
    assert sentences(bare.text, bare.starts) == ["well hes here", "really", "yes 35 km"]


def test_apostrophes_inside_words_can_stay():
    bare = bare_text("It's 'fine'. Don't!", [13], keep_apostrophes=True)
    assert bare.text == "it's fine don't"
    assert sentences(bare.text, bare.starts) == ["it's fine", "don't"]


def test_a_sentence_of_marks_alone_disappears():
    bare = bare_text("One. ... Two.", [5, 9])
    assert sentences(bare.text, bare.starts) == ["one", "two"]


def test_sentences_without_space_between_them_get_one():
    bare = bare_text("One.Two.", [4])
    assert (bare.text, bare.starts) == ("one two", (4,))


@pytest.mark.parametrize("text", ["", "...", " \n"])
def test_nothing_is_left_of_nothing(text):
    assert bare_text(text, []).text == ""
