"""The demo corpus: prose of the Python language reference, which every CPython carries.

It makes the first run work without a download. The text is what `help("lambda")` shows: the prose
paragraphs are kept, everything else (code, grammar, tables, headings, signatures, markup) goes.
"""

import re
from collections.abc import Iterator

from headscope.errors import CorpusError
from headscope.text.document import Document

_MIN_WORDS = 8
_MIN_LETTERS = 0.85
"""The share of letters and spaces below which a paragraph is code or a table, not prose."""

_BULLET = re.compile(r"(?:[*•-]|\d+\.|\[\d+\])\s+")
_DEFINED_TERM = re.compile(r"\A( *)(?![*\d\[ ])[^\n]*\n(?=\1 {2,}\S)")
"""A line with deeper lines under it: the term, or the signature, that they describe."""
_NOTE = re.compile(
    r"(?:Note|See also|Changed in version|Added in version|New in version|Deprecated)\b"
)
_NOT_PROSE = re.compile(r"::=|>>>|={3}|-{3}|\*{3}|~{3}|\+--|\.\.\.|\\|\|")
_EMPHASIS = re.compile(r"(?<![\w*\"'(])(\*{1,2})(?=\w)([^*]+?)(?<=\w)\1(?![\w*])")
_FOOTNOTE_MARK = re.compile(r"\s?\[\d+\]")
_PROSE_END = re.compile(r"[.!?][\"')\u201d\u2019]?$")


def read_demo() -> Iterator[Document]:
    """One document per topic that has prose, in the order of the topics' names."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        raise CorpusError(
            "this Python comes without its reference texts (pydoc_data), so there is no demo "
            "corpus; give a corpus of your own"
        ) from None
    seen: set[str] = set()  # topics share whole sections: each paragraph counts once
    for topic, page in sorted(topics.items()):
        paragraphs = []
        for block in re.split(r"\n\s*\n", page):
            prose = prose_of(block)
            if prose is not None and prose not in seen:
                seen.add(prose)
                paragraphs.append(prose)
        if paragraphs:
            yield Document(id=topic, text="\n\n".join(paragraphs))


def prose_of(block: str) -> str | None:
    """The block as one line of plain prose, or None when it is anything else."""
    if _NOT_PROSE.search(block):
        return None
    text = _DEFINED_TERM.sub("", block.strip("\n"))
    text = re.sub(r"(?<=\w)-\n\s*(?=\w)", "-", text)  # "built-" at the end of a line, then "in"
    text = " ".join(text.split())
    text = _BULLET.sub("", text, count=1) if _BULLET.match(text) else text
    text = _FOOTNOTE_MARK.sub("", _EMPHASIS.sub(r"\2", text))
    letters = sum(character.isalpha() or character == " " for character in text)
    is_prose = (
        len(text.split()) >= _MIN_WORDS
        and text[0].isupper()
        and _PROSE_END.search(text)
        and not _NOTE.match(text)
        and letters >= _MIN_LETTERS * len(text)
    )
    return text if is_prose else None
