"""A text in pieces is the text, wherever the pieces end."""

import pytest

from headscope.errors import CorpusError
from headscope.text.readers.source_file import SourceFile


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_pieces_never_break_a_character(tmp_path, size):
    text = "naïve “quotes” 你好 𝄞𝄞 end"
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    assert "".join(SourceFile(path, "text.txt").pieces(size)) == text


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    ("data", "named"),
    [(b"one\ntw\xffo", "line 2"), (b"one\ntwo\xe4", "line 2"), (b"one\0", "binary")],
)
def test_damage_is_named_with_its_place(tmp_path, size, data, named):
    path = tmp_path / "bad.txt"
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=named):
        list(SourceFile(path, "bad.txt").pieces(size))
