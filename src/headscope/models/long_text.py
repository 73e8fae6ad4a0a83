"""Long texts, encoded piece by piece: tokenizers need hundreds of bytes for every character."""

from collections.abc import Callable

import numpy as np

from headscope.text.encoding import Encoding

PIECE_CHARACTERS = 100_000
OVERLAP_CHARACTERS = 2_000
_AGREEING_TOKENS = 8
"""How many tokens in a row two pieces must share before one may take over from the other."""


def encode_in_pieces(
    encode: Callable[[str], Encoding],
    text: str,
    *,
    piece_characters: int = PIECE_CHARACTERS,
    overlap_characters: int = OVERLAP_CHARACTERS,
) -> Encoding:
    """The tokens of a text, in memory that does not grow with it beyond the tokens themselves.

    Neighbouring pieces overlap. The first tokens of a piece may differ from those of the whole text
    (a tokenizer treats the start of a text its own way), so the next piece takes over only where
    both have had the same tokens at the same characters for a while. Where they never agree, in an
    endless word for instance, it takes over at its first token behind the earlier piece.
    """
    if len(text) <= piece_characters + overlap_characters:
        return encode(text)
    token_ids: list[np.ndarray] = []
    starts: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    previous: Encoding | None = None
    for first in range(0, len(text), piece_characters):
        encoded = encode(text[first : first + piece_characters + overlap_characters])
        current = Encoding(encoded.token_ids, encoded.starts + first, encoded.ends + first)
        if previous is not None:
            kept, dropped = _take_over(previous, current, first)
            token_ids.append(previous.token_ids[:kept])
            starts.append(previous.starts[:kept])
            ends.append(previous.ends[:kept])
            current = Encoding(
                current.token_ids[dropped:], current.starts[dropped:], current.ends[dropped:]
            )
        previous = current
    assert previous is not None, "range() over a text longer than a piece is never empty"
    return Encoding(
        np.concatenate([*token_ids, previous.token_ids]),
        np.concatenate([*starts, previous.starts]),
        np.concatenate([*ends, previous.ends]),
    )


def _take_over(previous: Encoding, current: Encoding, first: int) -> tuple[int, int]:
    """How many tokens to keep of the previous piece, and how many to drop of the current one."""
    earlier = int(np.searchsorted(previous.starts, first, side="left"))
    agreeing = 0
    i, j = earlier, 0
    while i < len(previous.starts) and j < len(current.starts):
        if previous.starts[i] < current.starts[j]:
            i, agreeing = i + 1, 0
        elif previous.starts[i] > current.starts[j]:
            j, agreeing = j + 1, 0
        else:
            same = (
                previous.token_ids[i] == current.token_ids[j]
                and previous.ends[i] == current.ends[j]
            )
            agreeing = agreeing + 1 if same else 0
            i, j = i + 1, j + 1
            if agreeing == _AGREEING_TOKENS:
                return i, j
    last = previous.ends[-1] if len(previous.ends) else first
    return len(previous.starts), int(np.searchsorted(current.starts, last, side="left"))
