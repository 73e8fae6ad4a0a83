"""The most similar pairs of long texts, without most of the products.

A scalar product is at most the product of the two lengths. With the longest vectors first, what a
row has to be compared with ends where that falls below the least similarity that is still wanted.
In heads of SmolLM2 a fifth of all products is computed, for the top 1 %.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.kernels.cpu.jit import measure_heads as compiled
from headscope.kernels.cpu.jit.layout import Layer, Task, Texts
from headscope.kernels.similarity import vector_lengths

_ROWS = 128
"""Rows compared at once: all of them with as much as the first, which has the longest vector."""

_SLACK = 1e-5
"""Relative, for what rounding makes of lengths and products."""


def only_largest_wanted(texts: Texts, layer: Layer) -> bool:
    """Whether nothing is asked of a matrix but its largest similarities."""
    summed = layer.sum_own or layer.sum_scaled or layer.profiles
    return not summed and bool(texts.is_top.all())


def all_counted(texts: Texts) -> Texts:
    """The texts as `NormPruning` has them: their counted tokens come first, and no others."""
    return texts._replace(
        counted=np.ones_like(texts.counted),
        end_counted=texts.counted.sum(1, dtype=texts.end_counted.dtype),
    )


@dataclass(frozen=True, slots=True)
class NormPruning:
    """What a head writes for the counted tokens of texts, the longest vectors first."""

    vectors: Float[Tensor, "batch token d_head"]
    """In the order of the texts."""
    places: Int[Tensor, "batch token"]
    """Those of the longest vectors first; tokens that are not counted come last."""
    lengths: Float[np.ndarray, "batch token"]
    texts: Texts
    """In which all tokens are counted."""

    @classmethod
    def of(
        cls,
        vectors: Float[Tensor, "batch token d_head"],
        counted: Bool[np.ndarray, "batch token"],
        texts: Texts,
    ) -> "NormPruning":
        """The vectors of a head, put in order."""
        lengths = vector_lengths(vectors).masked_fill_(~torch.from_numpy(counted), -1)
        lengths, places = lengths.sort(descending=True)
        return cls(vectors, places, lengths.numpy(), texts)

    def measure(
        self, guess: float, text: int, head: int, task: Task, buffer: Float[Tensor, " number"]
    ) -> bool:
        """Find and count the largest similarities of a text; whether that went well.

        `guess` is a similarity that, probably, as many pairs reach as any rule takes.
        """
        n = int(self.texts.end_counted[text])
        places = self.places[text, :n]
        rows = self.vectors[text].index_select(0, places)
        columns, tiles = rows.mT, buffer.numpy()
        compiled.begin_ordered(guess, text, head, task)
        floor, row = guess, 0
        while (end := self._end_of_row(row, floor, text)) > row + 1:
            behind = min(row + _ROWS, row + max(1, len(tiles) // (end - row)), n)
            tile = tiles[: (behind - row) * (end - row)].reshape(behind - row, end - row)
            torch.mm(rows[row:behind], columns[:, row:end], out=torch.from_numpy(tile))
            floor = compiled.sift_ordered(tile, row, text, self.texts, task.scratch)
            row = behind
        return bool(compiled.finish_ordered(places.numpy(), text, head, task))

    def _end_of_row(self, row: int, floor: float, text: int) -> int:
        """One past the last token whose similarity to that of a row may reach the floor."""
        n = int(self.texts.end_counted[text])
        if row >= n or floor <= 0:
            return n
        lengths = self.lengths[text, :n]
        least = floor * (1 - _SLACK) / max(lengths[row], np.finfo(lengths.dtype).tiny)
        return n - int(np.searchsorted(lengths[::-1], least))
