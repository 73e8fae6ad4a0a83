"""Overlapping windows of some texts, put into padded batches and shared out among threads.

A text of any length is read without a seam where windows meet.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headscope.errors import SettingsError
from headscope.models.loaded import LoadedModel
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.system.threads import in_threads
from headscope.text.encoding import Encoding


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


WINDOW_TOKENS = 128
MARGIN_TOKENS = 12
BATCH_TOKENS = 512
"""Tokens that go through the model at once: few, so that attention maps stay in a core's cache."""

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, slots=True)
class WindowBatch:
    """Windows that go through the model together, padded to the longest."""

    windows: Sequence[OverlapWindow]
    token_ids: Int[Tensor, "window token"]
    real: Bool[Tensor, "window token"]
    """True for all but padding."""
    counted: Bool[Tensor, "window token"]
    """True for tokens of the text: neither padding nor special."""
    first_token: int
    """Where the tokens of the text begin: behind special ones."""

    def kept(self) -> Iterator[tuple[int, OverlapWindow, slice]]:
        """The row of each window, the window, and the places in that row that are kept."""
        for row, window in enumerate(self.windows):
            shift = self.first_token - window.first
            yield row, window, slice(window.kept_first + shift, window.kept_behind + shift)


def text_tokenizer(model: LoadedModel) -> HeadscopeTokenizer:
    """The tokenizer of a model.

    Raises:
        SettingsError: the model reads no text.
    """
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text: segmenting needs a model of text")
    return model.tokenizer


def for_each_batch(
    model: LoadedModel, encodings: Sequence[Encoding], read: Callable[[WindowBatch], Result]
) -> list[Result]:
    """What `read` gives for the batches that hold all tokens of all texts, sorted by length.

    Texts of any length are cut into overlapping windows. On a CPU, batches are read side by side,
    on a thread each: every token is kept in one window only.
    """
    groups = _groups(model, encodings)
    if not groups:
        return []
    threads = torch.get_num_threads() if model.device.type == "cpu" else 1
    shares = [groups[first::threads] for first in range(min(threads, len(groups)))]

    def work(share: Iterable[Sequence[OverlapWindow]]) -> list[Result]:
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
) -> WindowBatch:
    tokenizer = text_tokenizer(model)
    prefix, suffix = tokenizer.prefix_ids, tokenizer.suffix_ids
    longest = len(prefix) + windows[0].n_tokens + len(suffix)
    token_ids = torch.full((len(windows), longest), tokenizer.pad_id, dtype=torch.long)
    real = torch.zeros((len(windows), longest), dtype=torch.bool)
    counted = torch.zeros((len(windows), longest), dtype=torch.bool)
    for row, window in enumerate(windows):
        body = encodings[window.text].token_ids[window.first : window.behind].tolist()
        whole = [*prefix, *body, *suffix]
        token_ids[row, : len(whole)] = torch.tensor(whole)
        real[row, : len(whole)] = True
        counted[row, len(prefix) : len(prefix) + len(body)] = True
    return WindowBatch(windows, token_ids, real, counted, len(prefix))
