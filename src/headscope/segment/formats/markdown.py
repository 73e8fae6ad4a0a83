"""Markdown: its blocks, as character spans, and whether a text is Markdown at all.

CommonMark and tables, parsed by markdown-it-py. Texts are not rewritten: blocks are places in them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

BlockKind = Literal["prose", "heading", "item", "whole"]
"""Paragraphs are made of sentences. A list item is one segment, and so is what is whole: code,
tables, quotes, HTML, rules."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text: the characters [start, end), with the blank lines after it."""

    start: int
    end: int
    kind: BlockKind


_LINE_END = re.compile(r"\r\n?|\n")
_KINDS: dict[str, BlockKind] = {"paragraph": "prose", "heading": "heading"}


def markdown_blocks(text: str) -> list[Block]:
    """The blocks of a text; they cover it without a gap.

    An item that holds other lists is one block up to the first of them; the inner items are blocks
    of their own.

    >>> text = "# Title\\n\\nSome words.\\n\\n- one\\n- two\\n"
    >>> for block in markdown_blocks(text):
    ...     print(block.kind, repr(text[block.start : block.end]))
    heading '# Title\\n\\n'
    prose 'Some words.\\n\\n'
    item '- one\\n'
    item '- two\\n'

    Args:
        text: The text.
    """
    if not text:
        return []
    root = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text))
    lines = [0, *(found.end() for found in _LINE_END.finditer(text))]
    found = dict(_starts(root.children))
    starts = {lines[line]: kind for line, kind in sorted(found.items()) if lines[line] < len(text)}
    first = next(iter(starts), 0)
    kinds = {0: starts.pop(first, "prose")} | starts
    edges = [*kinds, len(text)]
    return [Block(start, end, kinds[start]) for start, end in pairwise(edges)]


def _starts(nodes: Sequence[SyntaxTreeNode]) -> list[tuple[int, BlockKind]]:
    """The first line of each block among some nodes, and its kind; the first of a line counts."""
    found: list[tuple[int, BlockKind]] = []
    for node in nodes:
        if node.map is None:
            continue
        line = node.map[0]
        if node.type in ("bullet_list", "ordered_list"):
            found += _starts(node.children)
        elif node.type == "list_item":
            found += _item(node)
        else:
            found.append((line, _KINDS.get(node.type, "whole")))
    return found


def _item(node: SyntaxTreeNode) -> list[tuple[int, BlockKind]]:
    assert node.map is not None
    found: list[tuple[int, BlockKind]] = [(node.map[0], "item")]
    after_list = False
    for child in node.children:
        is_list = child.type in ("bullet_list", "ordered_list")
        if is_list:
            inner = _starts(child.children)
            # An item that begins with a list is on the same line as the first inner item.
            found += [start for start in inner if start[0] != node.map[0]]
        elif after_list and child.map is not None:
            found.append((child.map[0], "item"))
        after_list = is_list
    return found


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(?:.*\n)*? {0,3}\1[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"(?:\A|\n[ \t]*\n)#{1,6} +\S[^\n]*(?=\n[ \t]*(?:\n|\Z)|\Z)")
_TABLE = re.compile(r"^[^\n]*\|[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*\|[-:| \t]*$", re.MULTILINE)
_INLINE = re.compile(r"!?\[[^\]\n]+\]\([^)\s]+\)|\*\*[^*\n]+\*\*|`[^`\n]+`")
_LOOKED_AT = 50_000


def looks_like_markdown(text: str) -> bool:
    """Whether a text has what plain text has not.

    A fence that is closed, a table, two headings between blank lines, or one such heading beside a
    link, bold words or code. Lists alone do not count: plain text has them.

    >>> looks_like_markdown("# A comment\\nx = 1\\n\\n- a list\\n- in plain text\\n")
    False

    Args:
        text: Its first 50,000 characters decide.
    """
    start = text[:_LOOKED_AT]
    if _FENCE.search(start) or _TABLE.search(start):
        return True
    headings = len(_HEADING.findall(start))
    return headings > 1 or (headings == 1 and _INLINE.search(start) is not None)


_SOFT_BREAK = re.compile(r"(?<=\S)( ?)(?:\r\n?|\n)(?=[ \t]*\S)")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def unwrapped(paragraph: str) -> str:
    """The paragraph with spaces for its line breaks, which mean nothing in Markdown.

    As long as before. A hard break (two spaces before it) stays.

    Args:
        paragraph: The text of a paragraph.
    """
    return _SOFT_BREAK.sub(lambda found: " " * len(found[0]), paragraph)


def code_spans(paragraph: str) -> list[tuple[int, int]]:
    """Code inside a paragraph, between backticks: no sentence begins there.

    Args:
        paragraph: The text of a paragraph, unwrapped.
    """
    return [found.span() for found in _CODE_SPAN.finditer(paragraph)]
