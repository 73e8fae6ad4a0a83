"""Batches: windows of like length together, so that little is padded."""

import math
from collections.abc import Sequence

from headscope.text.windows import Window


def batches(windows: Sequence[Window], *, max_tokens: int, workers: int = 1) -> list[list[int]]:
    """Groups of indices into `windows`: each window in one group, the longest windows first.

    A group is padded to its own longest window, and with that padding has at most `max_tokens`
    tokens. A window longer than that is a group by itself. Equal windows keep their order. For so
    many `workers`, groups are made small enough that all get as many, where there are so many
    windows.
    """
    if workers > 1 and windows:
        total = sum(window.n_tokens for window in windows)
        each = math.ceil(total / (workers * max_tokens))
        max_tokens = min(max_tokens, math.ceil(total / (workers * each)))
    by_length = sorted(range(len(windows)), key=lambda index: -windows[index].n_tokens)
    groups: list[list[int]] = []
    for index in by_length:
        if groups and (len(groups[-1]) + 1) * windows[groups[-1][0]].n_tokens <= max_tokens:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
