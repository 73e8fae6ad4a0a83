"""Texts of any length, read in overlapping windows: padded batches, divided among threads.

Every token is taken from a window in which it has context on both sides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headscope.models.given import tokenizer_of
from headscope.models.linear_maps import rough_linear_maps
from headscope.models.loaded import LoadedModel
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.system.threads import in_threads
from headscope.text.encoding import Encoding


@dataclass(frozen=True, slots=True)
class OverlapWindow:
    """Consecutive tokens that the model reads together, and those of them that are kept."""

    text: int
    """Number of the text."""
    start: int
    end: int
    """The tokens [start, end) are read."""
    kept_start: int
    kept_end: int
    """The tokens [kept_start, kept_end) are kept: those with context on both sides."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens that are read."""
        return self.end - self.start


def overlap_windows(text: int, tokens: int, *, size: int, margin: int) -> list[OverlapWindow]:
    """The windows of a text: every token is kept in exactly one of them.

    A token is kept if at least `margin` tokens lie between it and each edge of its window, unless
    that edge is an end of the text. The last window begins early enough to be full, so that the end
    of a text has as much context as the rest.

    >>> windows = overlap_windows(0, 9, size=6, margin=1)
    >>> [(window.start, window.end, window.kept_start, window.kept_end) for window in windows]
    [(0, 6, 0, 5), (3, 9, 5, 9)]

    Args:
        text: Number of the text.
        tokens: Number of its tokens.
        size: Tokens of a window; a shorter text is one window.
        margin: Tokens of context on either side of those that are kept.
    """
    if tokens <= size:
        return [OverlapWindow(text, 0, tokens, 0, tokens)] if tokens else []
    windows = []
    kept = 0
    while kept < tokens:
        start = min(max(kept - margin, 0), tokens - size)
        end = start + size
        kept_end = tokens if end == tokens else end - margin
        windows.append(OverlapWindow(text, start, end, kept, kept_end))
        kept = kept_end
    return windows


WINDOW_TOKENS = 128
MARGIN_TOKENS = 12
BATCH_TOKENS = 512
"""Tokens that go through the model at once: few, so that attention maps stay in a core's cache."""

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, slots=True)
class PaddedBatch:
    """Windows that go through the model together, padded to the longest."""

    windows: Sequence[OverlapWindow]
    token_ids: Int[Tensor, "window token"]
    real: Bool[Tensor, "window token"]
    """True for all but padding."""
    counted: Bool[Tensor, "window token"]
    """True for tokens of the text: neither padding nor special."""
    first_token: int
    """The place of the first token of the text: after the special ones."""

    def kept(self) -> Iterator[tuple[int, OverlapWindow, slice]]:
        """The row of each window, the window, and the places in that row that are kept."""
        for row, window in enumerate(self.windows):
            shift = self.first_token - window.start
            yield row, window, slice(window.kept_start + shift, window.kept_end + shift)


def text_tokenizer(model: LoadedModel) -> HeadscopeTokenizer:
    """The tokenizer of a model.

    Args:
        model: A model of text.

    Raises:
        ModelError: The model does not read text, or came without its tokenizer.
    """
    return tokenizer_of(model)


def for_each_batch(
    model: LoadedModel,
    encodings: Sequence[Encoding],
    read: Callable[[PaddedBatch], Result],
    *,
    exact: bool = True,
) -> list[Result]:
    """What `read` returns for each batch of windows; in no particular order.

    Texts of any length are cut into overlapping windows, and those sorted by length. On a CPU,
    several threads read batches at once, which is safe: every token is kept in one window only.

    Args:
        model: The model whose tokenizer and limits are used.
        encodings: The tokens of each text.
        read: Runs the model on a batch, and keeps or returns what is wanted of it.
        exact: Whether the model reads in its own precision, see `rough_linear_maps`.
    """
    groups = _groups(model, encodings)
    if not groups:
        return []
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    shares = [groups[first::threads] for first in range(min(threads, len(groups)))]

    def work(share: Iterable[Sequence[OverlapWindow]]) -> list[Result]:
        with nullcontext() if exact else rough_linear_maps():
            return [read(_padded(model, encodings, windows)) for windows in share]

    return [result for results in in_threads(work, shares) for result in results]


def _groups(model: LoadedModel, encodings: Sequence[Encoding]) -> list[Sequence[OverlapWindow]]:
    tokenizer = text_tokenizer(model)
    special = len(tokenizer.prefix_ids) + len(tokenizer.suffix_ids)
    size = min(WINDOW_TOKENS, tokenizer.max_tokens or WINDOW_TOKENS) - special
    margin = min(MARGIN_TOKENS, size // 4)
    windows = [
        window
        for number, encoding in enumerate(encodings)
        for window in overlap_windows(number, len(encoding.token_ids), size=size, margin=margin)
    ]
    windows.sort(key=lambda window: -window.n_tokens)
    groups: list[Sequence[OverlapWindow]] = []
    first = 0
    while first < len(windows):
        count = max(1, BATCH_TOKENS // (windows[first].n_tokens + special))
        groups.append(windows[first : first + count])
        first += count
    return groups


def _padded(
    model: LoadedModel, encodings: Sequence[Encoding], windows: Sequence[OverlapWindow]
) -> PaddedBatch:
    tokenizer = text_tokenizer(model)
    prefix, suffix = tokenizer.prefix_ids, tokenizer.suffix_ids
    longest = len(prefix) + windows[0].n_tokens + len(suffix)
    token_ids = torch.full((len(windows), longest), tokenizer.pad_id, dtype=torch.long)
    real = torch.zeros((len(windows), longest), dtype=torch.bool)
    counted = torch.zeros((len(windows), longest), dtype=torch.bool)
    for row, window in enumerate(windows):
        body = encodings[window.text].token_ids[window.start : window.end].tolist()
        whole = [*prefix, *body, *suffix]
        token_ids[row, : len(whole)] = torch.tensor(whole)
        real[row, : len(whole)] = True
        counted[row, len(prefix) : len(prefix) + len(body)] = True
    return PaddedBatch(windows, token_ids, real, counted, len(prefix))
