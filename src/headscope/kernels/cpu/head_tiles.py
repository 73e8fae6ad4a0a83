"""Long texts, head by head in tiles of rows: no whole matrix of similarities is ever held."""

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.kernels.cpu.jit import measure_heads as compiled
from headscope.kernels.cpu.jit.layout import Layer, Outputs, Task, Texts, new_scratch
from headscope.kernels.cpu.jit.sift_rows import kth_largest
from headscope.kernels.cpu.norm_pruning import NormPruning, all_counted, only_largest_wanted
from headscope.system.threads import in_threads

BAND_NUMBERS = 1 << 18
"""Products of rows of a head held at once, by each thread: for the cache of a core."""

_SAMPLE_TOKENS = 128
_SAMPLE_MARGIN = 2
"""Times as many pairs of a sample are taken as rules take of the text: few heads have fewer. Of 540
guesses for texts of 2,048 tokens none was too high; with 1.5 times as many, 14 were."""


def measure_heads(
    vectors: Float[Tensor, "batch head token d_head"],
    texts: Texts,
    layer: Layer,
    outputs: Outputs,
    sum_heads: Callable[[slice], Tensor],
) -> Float[Tensor, "head variant position position"]:
    """Run the compiled passes head by head, on threads, and `sum_heads` for those of a thread."""
    heads = vectors.shape[1]
    ordered = all_counted(texts) if only_largest_wanted(texts, layer) else None

    def measure(some: Iterable[int]) -> Tensor:
        task = Task(texts, layer, outputs, new_scratch(texts, layer))
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
    ordered: Texts | None,
) -> None:
    """Measure a head; `ordered` are the texts for `NormPruning`, if its largest pairs suffice."""
    counted = task.texts.counted
    norm_pruning = NormPruning.of(vectors, counted, ordered) if ordered is not None else None
    for text in range(len(vectors)):
        written = vectors[text, : int(task.texts.end_counted[text])]
        most = int(task.texts.taken[text, task.texts.is_top].max(initial=0))
        guess = _likely_taken(written, most)
        if norm_pruning is not None and norm_pruning.measure(guess, text, head, task, buffer):
            continue
        right = True
        for row, tile in _tiles(written, buffer):
            right &= compiled.sum_tile(tile, row, guess, text, head, task)
        if not right:
            for row, tile in _tiles(written, buffer):
                compiled.sift_tile(tile, row, text, head, task)
        if task.scratch.loose[0] or task.scratch.own_is_below[0]:
            for row, tile in _tiles(written, buffer):
                compiled.count_tile(tile, row, text, head, task)


def _likely_taken(vectors: Float[Tensor, "token d_head"], taken: int) -> float:
    """A similarity that probably `taken` pairs reach, and not many more; from a few tokens.

    Without it, the first rows would all be kept until it is known how large the largest are.
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
    """Bands of the upper triangle of the products: the first row, and (row, column).

    Each is overwritten by the next. There is one at least, if an empty one.
    """
    row, end = 0, len(vectors)
    while row == 0 or row < end:
        rows = min(max(1, BAND_NUMBERS // max(1, end - row)), end - row)
        tile = buffer[: rows * (end - row)].view(rows, end - row)
        torch.mm(vectors[row : row + rows], vectors[row:].mT, out=tile)
        yield row, tile.numpy()
        row += max(1, rows)
