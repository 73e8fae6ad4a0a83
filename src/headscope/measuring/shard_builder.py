"""A shard while its batches come in, in whatever order."""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.kernels.cpu.jit.sum_rows import add_triangles
from headscope.measures.columns import COLUMNS
from headscope.runs.left_out import LeftOut
from headscope.runs.shards import Shard, packed_shape
from headscope.system.memory import array_apart

Columns = Mapping[str, NDArray[np.float64]]


class WindowRows:
    """Columns of shape (window, head, ...), each window at its place. Threads may share it.

    The heads of all layers lie side by side, stack after stack.
    """

    def __init__(self, windows: int, heads: Mapping[str, int]) -> None:
        """Make columns for `windows` windows and the heads of each stack, all layers together."""
        self._n_windows = windows
        self._heads: dict[str, slice] = {}
        first = 0
        for stack, number in heads.items():
            self._heads[stack] = slice(first, first + number)
            first += number
        self._all_heads = first
        self._columns: dict[str, NDArray[np.float64]] = {}
        self._making = threading.Lock()

    @property
    def columns(self) -> Columns:
        """What there is so far; NaN where nothing was put yet."""
        return self._columns

    def put(self, stack: str, places: NDArray[np.int64], columns: Columns) -> None:
        """Keep what was measured of the windows at some places, of all heads of a stack."""
        with self._making:
            if new := {name: columns[name] for name in columns if name not in self._columns}:
                self._columns |= self._empty(new)
        for name, values in columns.items():
            self._columns[name][places, self._heads[stack]] = values

    def _empty(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        """Space for these columns of all windows and heads, NaN at first."""
        rows = self._n_windows * self._all_heads
        widths = {name: math.prod(values.shape[2:]) for name, values in columns.items()}
        buffer = array_apart((sum(widths.values()) * rows,))
        buffer.fill(np.nan)
        parts = np.split(buffer, np.cumsum([*widths.values()])[:-1] * rows)
        return {
            name: part.reshape(self._n_windows, self._all_heads, *columns[name].shape[2:])
            for name, part in zip(columns, parts, strict=True)
        }


Site = tuple[str, int, int]
"""Stack, layer and number of heads."""

_SYMMETRIC = ("similarity_sum", "aligned_sum")
"""Sums of symmetric matrices, most of a shard: only their upper triangles are kept."""


class ShardBuilder:
    """Collects rows and sums of the windows of a shard.

    Texts are named by their place in the shard. Whatever the order of the batches, rows come out
    in the order of the windows, and so are added up in that order.
    """

    def __init__(self, windows: int, first_window: int, sites: Sequence[Site]) -> None:
        self.windows = windows
        self.first_window = first_window
        # In the order of the rows of a shard: those of a text by stack, layer and head.
        self._sites = sorted(sites)
        heads: dict[str, int] = {}
        for stack, _, number in self._sites:
            heads[stack] = heads.get(stack, 0) + number
        self._rows = WindowRows(windows, heads)
        self._sweeps = WindowRows(windows, heads)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._left_out: dict[int, LeftOut] = {}

    def partner(self) -> "ShardBuilder":
        """A builder of the same shard for another thread.

        Rows of both go to the same place. Sums are its own, until this one adds them.
        """
        other = ShardBuilder(self.windows, self.first_window, self._sites)
        other._rows, other._sweeps = self._rows, self._sweeps
        return other

    def add_rows(self, stack: str, places: NDArray[np.int64], rows: Columns) -> None:
        """Columns of shape (window, head) for the windows at `places`, and all heads of a stack."""
        self._rows.put(stack, places, rows)

    def add_sweep(self, stack: str, places: NDArray[np.int64], columns: Columns) -> None:
        """Columns of shape (text, head, threshold) for the same."""
        self._sweeps.put(stack, places, columns)

    def add_array(
        self, stack: str, name: str, values: NDArray[np.floating[Any]], layer: int | None = None
    ) -> None:
        """A sum over windows: (head, ...) of one layer, or without layer of the windows alone.

        Added up in double precision, whatever that of a batch.
        """
        key = f"{stack}/{name}"
        if layer is None:
            if key not in self._arrays:
                self._arrays[key] = array_apart(values.shape)
            self._arrays[key] += values
            return
        layers = [site[1] for site in self._sites if site[0] == stack]
        heads = max(site[2] for site in self._sites if site[0] == stack)
        symmetric = name in _SYMMETRIC
        if key not in self._arrays:
            kept = packed_shape(values.shape) if symmetric else values.shape
            self._arrays[key] = array_apart((len(layers), heads, *kept[1:]))
        sums = self._arrays[key][layers.index(layer), : len(values)]
        if symmetric:
            n = values.shape[-1]
            add_triangles(values.reshape(-1, n, n), sums.reshape(-1, sums.shape[-1]))
        else:
            sums += values

    def leave_out(self, place: int, text: LeftOut) -> None:
        """There will be no rows of the text at `place`; the shard names it."""
        self._left_out[place] = text

    def add(self, other: "ShardBuilder") -> None:
        """Take over what a partner summed, and which windows it left out."""
        for name, summed in other._arrays.items():
            if name in self._arrays:
                self._arrays[name] += summed
            else:
                self._arrays[name] = summed
        self._left_out |= other._left_out

    def shard(self) -> Shard:
        """The finished shard."""
        kept = np.array([p for p in range(self.windows) if p not in self._left_out], dtype=np.int64)
        for name, values in self._sweeps.columns.items():
            summed = _sum_in_order(values, kept)
            parts = np.split(summed, np.cumsum([heads for _, _, heads in self._sites])[:-1])
            for (stack, layer, _), part in zip(self._sites, parts, strict=True):
                self.add_array(stack, f"sweep/{name}", part, layer=layer)
        for key in self._arrays:
            if key.endswith(_SYMMETRIC):
                self._arrays[key] = self._arrays[key].astype(np.float32)
        return Shard(
            rows=self._table(kept),
            arrays=self._arrays,
            left_out=tuple(sorted(self._left_out.values())),
        )

    def _table(self, kept: NDArray[np.int64]) -> pa.Table:
        """The rows of the windows that are kept, by window, stack, layer and head."""
        columns = self._rows.columns
        # Without a single text that could be measured, there are no columns but the keys.
        n_windows = len(kept) if columns else 0
        heads = [number for _, _, number in self._sites]
        stacks = sorted({stack for stack, _, _ in self._sites})
        stack_of_head = np.repeat([stacks.index(stack) for stack, _, _ in self._sites], heads)
        layer_of_head = np.repeat([layer for _, layer, _ in self._sites], heads)
        table = {
            "text": _column("text", np.repeat(self.first_window + kept[:n_windows], sum(heads))),
            "stack": pa.DictionaryArray.from_arrays(
                np.tile(stack_of_head.astype(np.int8), n_windows), stacks
            ).cast(COLUMNS["stack"].type),
            "layer": _column("layer", np.tile(layer_of_head, n_windows)),
            "head": _column(
                "head", np.tile(np.concatenate([np.arange(1, n + 1) for n in heads]), n_windows)
            ),
        }
        if columns:
            table["texts"] = _column("texts", np.ones(n_windows * sum(heads)))
        for name, values in columns.items():
            # Columns are most of what a shard takes: none is copied that need not be.
            there = values if n_windows == self.windows else values[kept]
            table[name] = _column(name, there.ravel())
        return pa.table(table)


def _column(name: str, values: NDArray[np.generic]) -> pa.Array:
    """Numbers as the column of that name is stored; null for NaN."""
    return pa.array(values, from_pandas=True).cast(COLUMNS[name].type)


def _sum_in_order(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum over windows, one after the other: the additions that reducing the rows makes."""
    total = np.zeros(values.shape[1:])
    for place in places:
        total += values[place]
    return total
