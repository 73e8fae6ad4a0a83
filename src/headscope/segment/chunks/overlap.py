"""Overlap: chunks that begin with the end of the text before them."""

from bisect import bisect_right
from collections.abc import Sequence

from headscope.segment.chunks.cut_places import CutPlaces, word_places
from headscope.segment.chunks.limits import Chunk, ChunkLimits
from headscope.segment.chunks.token_counter import TokenCounter


def with_overlap(
    text: str,
    spans: Sequence[tuple[int, int]],
    places: CutPlaces,
    limits: ChunkLimits,
    count: TokenCounter,
    begin: int = 0,
) -> list[Chunk]:
    """The chunks of a text, each with whole sentences of the one before it, if so wanted.

    As many as have at most `limits.overlap` tokens; where not even one has, as many words. A chunk
    repeats nothing of earlier ones than the one before it.

    Args:
        text: The text.
        spans: The chunks without overlap, see `pack`.
        places: Where sentences begin.
        limits: Sizes in tokens.
        count: Counts tokens.
        begin: Where the chunk before the first one begins; the text before it is not used.
    """
    sentences = places.characters.tolist()
    chunks = []
    for start, end in spans:
        first = start
        if limits.overlap and start > begin:
            first = _earliest(text, begin, start, end, sentences, limits, count)
        chunks.append(Chunk(text[first:end], first, end, count(text[first:end])))
        begin = start
    return chunks


def _earliest(
    text: str,
    begin: int,
    start: int,
    end: int,
    sentences: Sequence[int],
    limits: ChunkLimits,
    count: TokenCounter,
) -> int:
    """The earliest place from which the repeated text keeps the limits."""

    def fits(place: int) -> bool:
        repeated = count(text[place:start])
        return repeated <= limits.overlap and count(text[place:end]) <= limits.max_tokens

    before = sentences[bisect_right(sentences, begin) : bisect_right(sentences, start - 1)]
    for places in ([begin, *before], [begin, *word_places(text, begin, start).characters.tolist()]):
        earliest = start
        for place in reversed(places):
            if not fits(place):
                break
            earliest = place
        if earliest < start:
            return earliest
    return start
