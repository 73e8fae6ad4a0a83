"""Long windows, head by head in tiles of rows, so that no whole similarity matrix is ever held.

Given the vectors of a layer whose similarity matrices are too large for the cache; fills the same
`Outputs` as the pass over short windows. Heads are shared out among threads.
"""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.cpu.jit import measure_heads as compiled
from headscope.kernels.cpu.jit.layout import Layer, Outputs, Task, Windows, new_scratch
from headscope.kernels.cpu.jit.sift_rows import kth_largest
from headscope.kernels.cpu.norm_pruning import NormPruning, all_counted, only_largest_wanted
from headscope.system.threads import in_threads

BAND_NUMBERS = 1 << 18
"""Products of a tile, of which each thread holds one: it fits in the cache of a core."""

_SAMPLE_TOKENS = 128
_SAMPLE_MARGIN = 2
"""The share of pairs taken of a sample, relative to what rules take of the window. Of 540 guesses
for windows of 2,048 tokens none was too high; with 1.5 instead of 2, 14 were."""


def measure_heads(
    vectors: Float[Tensor, "batch head token d_head"],
    windows: Windows,
    layer: Layer,
    outputs: Outputs,
    sum_heads: Callable[[slice], Tensor],
) -> Float[Tensor, "head variant position position"]:
    """Measure all heads on threads; the sums by position that `sum_heads` gives.

    Args:
        vectors: Whose dot products are the similarities.
        windows: What is known of the windows.
        layer: What is known of the layer.
        outputs: What the passes write.
        sum_heads: Called by each thread, when it has measured its heads, for the sums of those.
    """
    heads = vectors.shape[1]
    ordered = all_counted(windows) if only_largest_wanted(windows, layer) else None

    def measure(some: Iterable[int]) -> Tensor:
        task = Task(windows, layer, outputs, new_scratch(windows, layer))
        buffer = vectors.new_empty(max(BAND_NUMBERS, vectors.shape[2]))
        done = []
        for head in some:
            _measure_head(vectors[:, head], head, task, buffer, ordered)
            done.append(head)
        return sum_heads(slice(done[0], done[-1] + 1))

    shares = np.array_split(np.arange(heads), min(torch.get_num_threads(), heads))
    return torch.cat(in_threads(measure, [share.tolist() for share in shares]))


def _measure_head(
    vectors: Float[Tensor, "batch token d_head"],
    head: int,
    task: Task,
    buffer: Float[Tensor, " number"],
    ordered: Windows | None,
) -> None:
    """Measure a head; `ordered` describes the windows for `NormPruning`, where that can be used."""
    counted = task.windows.counted
    norm_pruning = NormPruning.of(vectors, counted, ordered) if ordered is not None else None
    for window in range(len(vectors)):
        written = vectors[window, : int(task.windows.end_counted[window])]
        most = int(task.windows.taken[window, task.windows.is_top].max(initial=0))
        guess = _likely_taken(written, most)
        if norm_pruning is not None and norm_pruning.measure(guess, window, head, task, buffer):
            continue
        right = True
        for row, tile in _tiles(written, buffer):
            right &= compiled.sum_tile(tile, row, guess, window, head, task)
        if not right:
            for row, tile in _tiles(written, buffer):
                compiled.sift_tile(tile, row, window, head, task)
        if task.scratch.loose[0] or task.scratch.own_is_below[0]:
            for row, tile in _tiles(written, buffer):
                compiled.count_tile(tile, row, window, head, task)


def _likely_taken(vectors: Float[Tensor, "token d_head"], taken: int) -> float:
    """A similarity that probably at least `taken` pairs reach, but few more; from a few tokens.

    Without it, the first rows would be kept whole, until it is known how large the largest are.
    """
    n, sample = len(vectors), min(len(vectors) // 2, _SAMPLE_TOKENS)
    if sample == 0:
        return -math.inf
    step = n // sample
    similarities = vectors[::step][:sample] @ vectors[step // 2 :: step][:sample].mT
    wanted = math.ceil(_SAMPLE_MARGIN * taken / (n * (n - 1) // 2) * similarities.numel())
    if wanted >= similarities.numel() // 2:
        return -math.inf
    return float(kth_largest(similarities.flatten().numpy(), max(1, wanted)))


def _tiles(
    vectors: Float[Tensor, "token d_head"], buffer: Float[Tensor, " number"]
) -> Iterator[tuple[int, NDArray[np.floating]]]:
    """The upper triangle of the dot products in tiles: the first row, and the tile (row, column).

    Each tile is overwritten by the next. There is at least one, which may be empty.
    """
    row, end = 0, len(vectors)
    while row == 0 or row < end:
        rows = min(max(1, BAND_NUMBERS // max(1, end - row)), end - row)
        tile = buffer[: rows * (end - row)].view(rows, end - row)
        torch.mm(vectors[row : row + rows], vectors[row:].mT, out=tile)
        yield row, tile.numpy()
        row += max(1, rows)
