"""A shard while it is being measured: collects rows and sums of its batches, in any order.

Given columns per window and head, and arrays summed over windows; gives the finished shard.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.measures.columns import COLUMNS
from headscope.runs.left_out import LeftOut
from headscope.runs.shards import Shard, packed_shape
from headscope.system.memory import array_apart

Columns = Mapping[str, NDArray[np.float64]]


class WindowRows:
    """Columns of shape (window, head, ...), each window at its place. Threads may share it.

    The heads of all layers are side by side, stack after stack.
    """

    def __init__(self, windows: int, heads: Mapping[str, int]) -> None:
        """Make room for the columns of all windows.

        Args:
            windows: Number of windows.
            heads: Number of heads of each stack, all layers together.
        """
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
        """The columns so far; NaN where nothing was put yet."""
        return self._columns

    def put(self, stack: str, places: NDArray[np.int64], columns: Columns) -> None:
        """Keep what was measured of some windows, for all heads of a stack.

        Args:
            stack: Of the heads.
            places: Of the windows in the shard.
            columns: Of shape (window, head, ...).
        """
        with self._making:
            if new := {name: columns[name] for name in columns if name not in self._columns}:
                self._columns |= self._empty(new)
        for name, values in columns.items():
            self._columns[name][places, self._heads[stack]] = values

    def _empty(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        """Room for these columns, for all windows and heads; NaN at first."""
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

    Windows are identified by their place in the shard. Rows come out, and are added up, in the
    order of the windows, whatever the order of the batches.
    """

    def __init__(self, windows: int, first_window: int, sites: Sequence[Site]) -> None:
        self.windows = windows
        self.first_window = first_window
        # In the order of the rows of a shard: those of a window by stack, layer and head.
        self._sites = sorted(sites)
        heads: dict[str, int] = {}
        for stack, _, number in self._sites:
            heads[stack] = heads.get(stack, 0) + number
        self._rows = WindowRows(windows, heads)
        self._sweeps = WindowRows(windows, heads)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._left_out: dict[int, LeftOut] = {}

    def add_rows(self, stack: str, places: NDArray[np.int64], rows: Columns) -> None:
        """Add columns of some windows, for all heads of a stack.

        Args:
            stack: Of the heads.
            places: Of the windows in the shard.
            rows: Columns of shape (window, head).
        """
        self._rows.put(stack, places, rows)

    def add_sweep(self, stack: str, places: NDArray[np.int64], columns: Columns) -> None:
        """Add columns of the sweep of some windows, for all heads of a stack.

        Args:
            stack: Of the heads.
            places: Of the windows in the shard.
            columns: Of shape (window, head, threshold).
        """
        self._sweeps.put(stack, places, columns)

    def add_array(
        self, stack: str, name: str, values: NDArray[np.floating[Any]], layer: int | None = None
    ) -> None:
        """Add a sum over the windows of a batch, in double precision.

        Args:
            stack: Of the heads.
            name: Of the array.
            values: Of shape (head, ...); without `layer`, what depends on the windows alone.
            layer: Of the heads, if any.
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
            # Compiled; whoever looks at one text needs none of it.
            from headscope.kernels.cpu.jit.sum_rows import add_triangles

            n = values.shape[-1]
            add_triangles(values.reshape(-1, n, n), sums.reshape(-1, sums.shape[-1]))
        else:
            sums += values

    def leave_out(self, place: int, window: LeftOut) -> None:
        """Name a window of which there will be no rows.

        Args:
            place: Of the window in the shard.
            window: What the shard says of it.
        """
        self._left_out[place] = window

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
        # If no window could be measured, there are no columns but the keys.
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
            # Columns are most of a shard: none is copied without need.
            there = values if n_windows == self.windows else values[kept]
            table[name] = _column(name, there.ravel())
        return pa.table(table)


def _column(name: str, values: NDArray[np.generic]) -> pa.Array:
    """Numbers in the type of the column of that name; null for NaN."""
    return pa.array(values, from_pandas=True).cast(COLUMNS[name].type)


def _sum_in_order(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum over windows, in order: the same additions as when rows are reduced."""
    total = np.zeros(values.shape[1:])
    for place in places:
        total += values[place]
    return total
