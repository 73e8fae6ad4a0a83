"""Overlapping windows: a text of any length, read without a seam where windows meet."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OverlapWindow:
    """Consecutive tokens that the model reads together, and those of them whose reading is kept."""

    text: int
    """Which text of the batch."""
    first: int
    behind: int
    """The tokens [first, behind) are read."""
    kept_first: int
    kept_behind: int
    """The tokens [kept_first, kept_behind) are kept: those with context on both sides."""

    @property
    def n_tokens(self) -> int:
        """How many tokens are read."""
        return self.behind - self.first


def overlap_windows(text: int, tokens: int, *, size: int, margin: int) -> list[OverlapWindow]:
    """The windows of a text: every token is kept in exactly one of them.

    Each is of `size` tokens, and a token is kept where at least `margin` tokens, or the end of the
    text, lie between it and the edge of its window. The last window reaches back, so that the end
    of a text has a full window of context, too.
    """
    if tokens <= size:
        return [OverlapWindow(text, 0, tokens, 0, tokens)] if tokens else []
    windows = []
    kept = first = 0
    while kept < tokens:
        first = min(max(kept - margin, 0), tokens - size)
        behind = first + size
        kept_behind = tokens if behind == tokens else behind - margin
        windows.append(OverlapWindow(text, first, behind, kept, kept_behind))
        kept = kept_behind
    return windows
