"""Overlapping windows: each token is read once for good, with context on both sides."""

from hypothesis import given
from hypothesis import strategies as st

from headscope.segment.reading.window_batches import overlap_windows


@given(tokens=st.integers(0, 900), size=st.integers(8, 128), share=st.integers(2, 8))
def test_every_token_is_kept_once_with_its_margins(tokens, size, share):
    margin = size // (2 * share)
    windows = overlap_windows(3, tokens, size=size, margin=margin)
    kept = [i for window in windows for i in range(window.kept_start, window.kept_end)]
    assert kept == list(range(tokens))
    for window in windows:
        assert window.text == 3
        assert window.n_tokens == min(size, tokens)
        assert window.kept_start - window.start >= margin or window.start == 0
        assert window.end - window.kept_end >= margin or window.end == tokens
