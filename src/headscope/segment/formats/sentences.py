"""The sentences of a text in a format: where they begin, and what a cut there is worth."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from headscope.segment.chunks.cut_places import (
    HEADING,
    PARAGRAPH,
    SENTENCE,
    UNDER_HEADING,
)
from headscope.segment.formats.markdown import Block, code_spans, markdown_blocks, unwrapped


@dataclass(frozen=True, slots=True)
class Sentences:
    """Where sentences begin, without the first."""

    starts: list[int]
    gains: list[float]
    """What it is worth to begin a chunk at each."""
    headings: list[int] = field(default_factory=list)
    """Those that are headings."""


SplitPlain = Callable[[str], Sentences]
"""The sentences of a plain text."""


def markdown_sentences(text: str, split_plain: SplitPlain) -> Sentences:
    """The sentences of a Markdown text: those of its paragraphs, and all its other blocks whole.

    Paragraphs are read together, without what stands between them.

    Args:
        text: The text.
        split_plain: Finds the sentences of paragraphs.
    """
    blocks = markdown_blocks(text)
    prose = [block for block in blocks if block.kind == "prose"]
    parts = [unwrapped(text[block.start : block.end]).rstrip() + "\n\n" for block in prose]
    found = split_plain("".join(parts))
    ends = list(accumulate(map(len, parts)))
    code = [code_spans(part) for part in parts]
    inside: dict[int, float] = {}
    for start, gain in zip(found.starts, found.gains, strict=True):
        number = bisect_right(ends, start)
        place = start - (ends[number] - len(parts[number]))
        if place and not any(first < place < last for first, last in code[number]):
            inside[prose[number].start + place] = gain
    gains = {later.start: _gain(block, later) for block, later in pairwise(blocks)} | inside
    starts = sorted(gains)
    headings = [block.start for block in blocks if block.kind == "heading" and block.start]
    return Sentences(starts, [gains[start] for start in starts], headings)


def _gain(before: Block, block: Block) -> float:
    """What it is worth to begin a chunk with a block."""
    if before.kind == "heading":
        return UNDER_HEADING
    if block.kind == "heading":
        return HEADING
    return SENTENCE if block.kind == "item" else PARAGRAPH
