"""Streaming: the segments or chunks of a text of any length, with bounded memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from headscope.segment.chunks.limits import Chunk

BLOCK_CHARACTERS = 50_000
"""Number of characters of a streamed text that are segmented at once."""
TOPIC_BLOCK_CHARACTERS = 200_000
CONTEXT_CHARACTERS = 600
"""Characters before a block that are read again as its context: more than a window's margin."""
LOOK_AHEAD_CHARACTERS = 2_000
"""A boundary is certain when this many characters after it are known."""
LONGEST_SEGMENT = 1_000_000
"""Longer segments are yielded in parts, to bound memory."""

NextSpans = Callable[[str, str], list[tuple[int, int]]]
"""From a text and the one that follows it, the spans of the second."""


NextChunks = Callable[[str, int], list[Chunk]]
"""From a text and the place where its rest begins, the chunks of the rest."""

_UNCERTAIN_CHUNKS = 2
"""The last chunks of a block may change when more text is known."""


def peek(pieces: Iterable[str]) -> tuple[str, Iterator[str]]:
    """The beginning of a text that arrives in pieces, and all its pieces.

    Args:
        pieces: The text.
    """
    rest = iter(pieces)
    first = ""
    for piece in rest:
        first += piece
        if len(first) >= BLOCK_CHARACTERS:
            break
    return first, chain([first], rest)


def stream_segments(
    next_spans: NextSpans, pieces: Iterable[str], *, by_topic: bool = False
) -> Iterator[str]:
    """The segments of a text that arrives in pieces, each as soon as it is certain.

    Args:
        next_spans: Segments a block, given the text before it.
        pieces: The text, in pieces of any size.
        by_topic: Topics need larger blocks than sentences.
    """
    block = TOPIC_BLOCK_CHARACTERS if by_topic else BLOCK_CHARACTERS
    before, waiting, wanted = "", "", block
    for piece in pieces:
        waiting += piece
        while len(waiting) >= wanted:
            cut = _certain(next_spans(before, waiting[:wanted]), wanted)
            if not cut:
                if wanted < LONGEST_SEGMENT:
                    wanted *= 2  # no boundary in all of that: look at more
                    continue
                cut = [wanted]
            start = 0
            for end in cut:
                yield waiting[start:end]
                start = end
            before = (before + waiting[:start])[-CONTEXT_CHARACTERS:]
            waiting, wanted = waiting[start:], block
    for start, end in next_spans(before, waiting):
        yield waiting[start:end]


def _certain(spans: list[tuple[int, int]], length: int) -> list[int]:
    """The ends of the segments after which enough text is known."""
    return [end for _, end in spans if end <= length - LOOK_AHEAD_CHARACTERS]


def stream_chunks(next_chunks: NextChunks, pieces: Iterable[str]) -> Iterator[Chunk]:
    """The chunks of a text that arrives in pieces; the best ones within blocks of the text.

    Args:
        next_chunks: Chunks the rest of a block; the chunk before it is context and overlap.
        pieces: The text, in pieces of any size.
    """
    block = TOPIC_BLOCK_CHARACTERS
    waiting, wanted = "", block
    passed, begin = 0, 0  # characters of the text before `waiting`; of `waiting` already yielded
    for piece in pieces:
        waiting += piece
        while len(waiting) >= wanted:
            found = next_chunks(waiting[:wanted], begin)[:-_UNCERTAIN_CHUNKS]
            certain = [chunk for chunk in found if chunk.end <= wanted - LOOK_AHEAD_CHARACTERS]
            if not certain:
                wanted *= 2
                continue
            yield from (_moved(chunk, passed) for chunk in certain)
            last = certain[-2].end if len(certain) > 1 else begin
            passed, begin = passed + last, certain[-1].end - last
            waiting, wanted = waiting[last:], block + begin
    yield from (_moved(chunk, passed) for chunk in next_chunks(waiting, begin))


def _moved(chunk: Chunk, characters: int) -> Chunk:
    return replace(chunk, start=chunk.start + characters, end=chunk.end + characters)
