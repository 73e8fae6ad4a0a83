"""Markdown: blocks stay whole, headings begin segments, nothing is lost, plain text is plain."""

import re
from importlib.metadata import distributions
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from headscope.segment.formats.markdown import (
    code_spans,
    looks_like_markdown,
    markdown_blocks,
    unwrapped,
)
from headscope.segment.segmenter import Segmenter
from headscope.text.corpus import read_corpus
from headscope.text.demo import read_demo

PAGE = """\
# Title

First sentence, which
goes on here. Second one uses `a. B` in code.

## Section
- one item. It has two sentences.
- another item
  - an inner item. Two sentences.

  and its end

> A quote. It has
> two sentences.

```python
x = 1. + 2

# not a heading
```

| a. B | c |
|------|---|
| D. E | f |

Last words.
"""

SOURCES = (
    "#",
    " ",
    "- ",
    "1. ",
    "> ",
    "```",
    "~~~",
    "|",
    "\n",
    "\n\n",
    "a",
    "B. ",
    "`",
    "\r\n",
    "\t",
)
MARKED = st.lists(st.one_of(st.sampled_from(SOURCES), st.text(max_size=5)), max_size=60).map(
    "".join
)


@pytest.fixture(scope="module")
def segmenter(demo_model):
    return Segmenter(demo_model, format="markdown")


@settings(max_examples=150, deadline=None)
@given(text=MARKED)
def test_blocks_cover_any_text(text):
    blocks = markdown_blocks(text)
    assert "".join(text[block.start : block.end] for block in blocks) == text
    assert all(block.start < block.end for block in blocks)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=MARKED)
def test_segments_joined_are_the_markdown_again(segmenter, text):
    assert "".join(segmenter.split(text)) == text
    assert "".join(chunk.text for chunk in segmenter.chunk(text, max_tokens=20)) == text


def test_a_page_is_cut_at_its_blocks_and_sentences(segmenter):
    assert [piece.strip() for piece in segmenter.split(PAGE)] == [
        "# Title",
        "First sentence, which\ngoes on here.",
        "Second one uses `a. B` in code.",
        "## Section",
        "- one item. It has two sentences.",
        "- another item",
        "- an inner item. Two sentences.",
        "and its end",
        "> A quote. It has\n> two sentences.",
        "```python\nx = 1. + 2\n\n# not a heading\n```",
        "| a. B | c |\n|------|---|\n| D. E | f |",
        "Last words.",
    ]


def test_topics_and_chunks_begin_at_headings_and_keep_them_with_their_text(segmenter):
    topics = segmenter.split(PAGE, by="topic")
    assert [topic.splitlines()[0] for topic in topics][:2] == ["# Title", "## Section"]
    for options in ({"max_tokens": 40}, {"max_tokens": 40, "by": "sentence"}):
        for chunk in segmenter.chunk(PAGE, **options):
            assert not chunk.text.rstrip().endswith(("# Title", "## Section"))
    chunks = segmenter.chunk(PAGE, max_tokens=40)
    assert any(chunk.text.startswith("## Section") for chunk in chunks)
    assert sum("x = 1" in chunk.text and "not a heading" in chunk.text for chunk in chunks) == 1


def readmes():
    """The ten shortest long READMEs among the installed packages, by name."""
    found = {}
    for package in distributions():
        kind = package.metadata.get("Description-Content-Type") or ""
        text = package.metadata.get_payload() or package.metadata.get("Description") or ""
        if kind.startswith("text/markdown") and len(text) > 2_000 and "```" in text:
            found[package.metadata["Name"]] = text
    return sorted(found.items(), key=lambda item: (len(item[1]), item[0]))[:10]


README_FILES = readmes()


def test_there_are_ten_readmes():
    assert len(README_FILES) == 10
    together = "".join(text for _, text in README_FILES)
    assert re.search(r"^\|.*\|$", together, re.MULTILINE), "one has a table"


@pytest.mark.parametrize(
    "text", [text for _, text in README_FILES], ids=[n for n, _ in README_FILES]
)
def test_no_fence_table_or_item_of_a_readme_is_cut(segmenter, text):
    """What markdown-it itself says are fences, tables and items, line by line."""
    assert looks_like_markdown(text)
    spans = segmenter.spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    lines_cut = {
        text.count("\n", 0, start) for start, _ in spans if text[start - 1 : start] == "\n"
    }
    inside_lines = [start for start, _ in spans[1:] if text[start - 1] != "\n"]
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    lists = [token.map for token in tokens if token.type.endswith("_list_open")]
    for token in tokens:
        if token.type not in ("fence", "code_block", "table_open", "list_item_open"):
            continue
        first, last = token.map
        inner = [start for start, end in lists if first < start < last and end <= last]
        last = min(inner, default=last)  # inner items are segments of their own
        assert not lines_cut & set(range(first + 1, last)), (token.type, token.map)
        for start in inside_lines:
            assert not first <= text.count("\n", 0, start) < last, (token.type, text[start:][:40])
    headings = [
        token.map[0] for token in tokens if token.type == "heading_open" and not token.level
    ]
    assert set(headings) <= lines_cut | {0}


def test_plain_text_is_not_taken_for_markdown(demo_model):
    documents = list(read_demo())
    path = Path(__file__).parents[4] / "shared/corpora/ewt-dev.conllu.gz"
    if path.exists():
        documents += read_corpus([path])
    assert not [document.id for document in documents if looks_like_markdown(document.text)]
    text = documents[0].text[:3_000]
    assert Segmenter(demo_model).spans(text) == Segmenter(demo_model, format="text").spans(text)


def test_soft_breaks_become_spaces_and_hard_ones_stay():
    assert unwrapped("one\ntwo  \nthree\r\nfour\n\n") == "one two  \nthree  four\n\n"
    assert code_spans("a `b. C` and ``d ` e``") == [(2, 8), (13, 22)]
