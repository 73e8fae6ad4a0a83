"""The most similar pairs of long windows, found without most of the dot products.

A dot product is at most the product of the two lengths. With the longest vectors first, a row need
only be compared with tokens up to where this bound falls below the least similarity still wanted:
in heads of SmolLM2, a fifth of all products for the top 1 %. Given the vectors of a head; fills the
same `Outputs` as the other passes, where nothing but `top` rules is asked for.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.kernels.cpu.jit import measure_heads as compiled
from headscope.kernels.cpu.jit.layout import Layer, Task, Windows
from headscope.kernels.similarity import vector_lengths

_ROWS = 128
"""Rows compared at once, each with as many tokens as the first, whose vector is longest."""

_SLACK = 1e-5
"""Relative tolerance for rounding errors of lengths and products."""


def only_largest_wanted(windows: Windows, layer: Layer) -> bool:
    """Whether only the largest similarities of each matrix are wanted.

    Args:
        windows: Says which pair rules are measured.
        layer: Says which sums are wanted.
    """
    summed = layer.sum_own or layer.sum_scaled or layer.profiles
    return not summed and bool(windows.is_top.all())


def all_counted(windows: Windows) -> Windows:
    """The windows as `NormPruning` orders them: their counted tokens first, and no others.

    Args:
        windows: In their own order.
    """
    return windows._replace(
        counted=np.ones_like(windows.counted),
        end_counted=windows.counted.sum(1, dtype=windows.end_counted.dtype),
    )


@dataclass(frozen=True, slots=True)
class NormPruning:
    """What a head writes for the counted tokens of windows, the longest vectors first."""

    vectors: Float[Tensor, "batch token d_head"]
    """With tokens in the order of the window."""
    places: Int[Tensor, "batch token"]
    """The tokens in order of length, longest first; tokens that are not counted come last."""
    lengths: Float[np.ndarray, "batch token"]
    windows: Windows
    """As `all_counted` gives them."""

    @classmethod
    def of(
        cls,
        vectors: Float[Tensor, "batch token d_head"],
        counted: Bool[np.ndarray, "batch token"],
        windows: Windows,
    ) -> "NormPruning":
        """The vectors of a head, ordered by length."""
        lengths = vector_lengths(vectors).masked_fill_(~torch.from_numpy(counted), -1)
        lengths, places = lengths.sort(descending=True)
        return cls(vectors, places, lengths.numpy(), windows)

    def measure(
        self, guess: float, window: int, head: int, task: Task, buffer: Float[Tensor, " number"]
    ) -> bool:
        """Find and count the largest similarities of a window; False if that failed.

        Args:
            guess: A similarity that probably at least as many pairs reach as any rule takes.
            window: Its place in the batch.
            head: Its place in the layer.
            task: What is read and written.
            buffer: Room for a tile of products.
        """
        n = int(self.windows.end_counted[window])
        places = self.places[window, :n]
        rows = self.vectors[window].index_select(0, places)
        columns, tiles = rows.mT, buffer.numpy()
        compiled.begin_ordered(guess, window, head, task)
        floor, row = guess, 0
        while (end := self._end_of_row(row, floor, window)) > row + 1:
            stop = min(row + _ROWS, row + max(1, len(tiles) // (end - row)), n)
            tile = tiles[: (stop - row) * (end - row)].reshape(stop - row, end - row)
            torch.mm(rows[row:stop], columns[:, row:end], out=torch.from_numpy(tile))
            floor = compiled.sift_ordered(tile, row, window, self.windows, task.scratch)
            row = stop
        return bool(compiled.finish_ordered(places.numpy(), window, head, task))

    def _end_of_row(self, row: int, floor: float, window: int) -> int:
        """One past the last token whose similarity to the token of a row may reach the floor."""
        n = int(self.windows.end_counted[window])
        if row >= n or floor <= 0:
            return n
        lengths = self.lengths[window, :n]
        least = floor * (1 - _SLACK) / max(lengths[row], np.finfo(lengths.dtype).tiny)
        return n - int(np.searchsorted(lengths[::-1], least))
