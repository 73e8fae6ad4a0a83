import pytest

from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.text.document import Document, Word
from headscope.text.kinds import TokenKind, is_separator
from headscope.text.windows import cut_windows
from tests.text import tiny_tokenizers

TOKENIZER = HeadscopeTokenizer(tiny_tokenizers.wordpiece())


def kinds(text, **marks):
    """The kinds of the tokens at the start of each word of the text."""
    (window,) = cut_windows(Document("d", text, **marks), TOKENIZER, min_tokens=2)
    return {
        token: TokenKind(kind).name.lower()
        for token, kind in zip(window.tokens, window.kinds, strict=True)
    }


def test_kinds_by_the_look_of_the_words():
    found = kinds("“Cats” of Zürich, 3.5 of them, sat. The end?")
    expected = {"“": "punctuation", "Cats": "content", "of": "function", "Zürich": "name"}
    expected |= {",": "punctuation", "3": "number", ".": "separator", "The": "function"}
    expected |= {"?": "separator", "[CLS]": "special", "sat": "content", "them": "function"}
    # The tiny vocabulary cuts words up; the kind is that of the word each piece starts.
    for word, kind in expected.items():
        piece = next(token for token in found if word.startswith(token))
        assert found[piece] == kind, word


def test_kinds_by_gold_tags():
    words = (Word(0, 3, "the", "PROPN"), Word(4, 7, "cat", "ADP"), Word(7, 8, ".", "PUNCT"))
    found = kinds("the cat.", words=words)
    assert (found["the"], found["cat"], found["."]) == ("name", "function", "separator")


@pytest.mark.parametrize("surface", [".", "!", "?", "...", "?!", "。", "！", "．", "｡"])  # noqa: RUF001
def test_sentence_ends_are_separators(surface):
    assert is_separator(surface)


@pytest.mark.parametrize("surface", ["", ",", "…", "a.", " .", "[SEP]", ":"])
def test_anything_else_is_no_separator(surface):
    assert not is_separator(surface)
