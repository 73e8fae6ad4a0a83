"""Segmenting a text that does not fit into memory, or has not ended yet."""

from collections.abc import Callable, Iterable, Iterator

BLOCK_CHARACTERS = 50_000
"""So much of the text is segmented at once."""
TOPIC_BLOCK_CHARACTERS = 200_000
CONTEXT_CHARACTERS = 600
"""So much of what was given out is read again as context of what follows: more than a margin."""
LOOK_AHEAD_CHARACTERS = 2_000
"""A boundary is certain when so much of the text behind it is known."""
LONGEST_SEGMENT = 1_000_000
"""A segment that is longer is given out in parts: memory must end somewhere."""

NextSpans = Callable[[str, str], list[tuple[int, int]]]
"""The spans of a text (second) that follows another one (first)."""


def stream_segments(
    next_spans: NextSpans, pieces: Iterable[str], *, by_topic: bool = False
) -> Iterator[str]:
    """The segments of the text that the pieces make up, each as soon as it is certain."""
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
    """The ends of the segments behind which enough is known."""
    return [end for _, end in spans if end <= length - LOOK_AHEAD_CHARACTERS]
