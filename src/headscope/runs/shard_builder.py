"""A shard while its batches come in, in whatever order."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.compiled.add_triangles import add_triangles
from headscope.free_memory import array_apart
from headscope.runs.columns import column_type
from headscope.runs.left_out import LeftOut
from headscope.runs.shards import Shard
from headscope.runs.text_rows import Columns, TextRows
from headscope.runs.triangle import packed_shape

Site = tuple[str, int, int]
"""Stack, layer and number of heads."""

_SYMMETRIC = ("similarity_sum", "aligned_sum")
"""Sums of symmetric matrices, most of a shard: only their upper triangles are kept."""


class ShardBuilder:
    """Collects rows and sums of the texts of a shard.

    Texts are named by their place in the shard. Whatever the order of the batches, rows come out
    in the order of the texts, and so are added up in that order.
    """

    def __init__(self, texts: int, first_text: int, sites: Sequence[Site]) -> None:
        self.texts = texts
        self.first_text = first_text
        # In the order of the rows of a shard: those of a text by stack, layer and head.
        self._sites = sorted(sites)
        heads: dict[str, int] = {}
        for stack, _, number in self._sites:
            heads[stack] = heads.get(stack, 0) + number
        self._rows = TextRows(texts, heads)
        self._sweeps = TextRows(texts, heads)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._left_out: dict[int, LeftOut] = {}

    def partner(self) -> "ShardBuilder":
        """A builder of the same shard for another thread.

        Rows of both go to the same place. Sums are its own, until this one adds them.
        """
        other = ShardBuilder(self.texts, self.first_text, self._sites)
        other._rows, other._sweeps = self._rows, self._sweeps
        return other

    def add_rows(self, stack: str, places: NDArray[np.int64], rows: Columns) -> None:
        """Columns of shape (text, head) for the texts at `places`, and all heads of a stack."""
        self._rows.put(stack, places, rows)

    def add_sweep(self, stack: str, places: NDArray[np.int64], columns: Columns) -> None:
        """Columns of shape (text, head, threshold) for the same."""
        self._sweeps.put(stack, places, columns)

    def add_array(
        self, stack: str, name: str, values: NDArray[np.floating[Any]], layer: int | None = None
    ) -> None:
        """A sum over texts: (head, ...) of one layer, or without layer of the texts alone.

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
        """Take over what a partner summed, and which texts it left out."""
        for name, summed in other._arrays.items():
            if name in self._arrays:
                self._arrays[name] += summed
            else:
                self._arrays[name] = summed
        self._left_out |= other._left_out

    def shard(self) -> Shard:
        """The finished shard."""
        kept = np.array([p for p in range(self.texts) if p not in self._left_out], dtype=np.int64)
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
        """The rows of the texts that are kept, by text, stack, layer and head."""
        columns = self._rows.columns
        # Without a single text that could be measured, there are no columns but the keys.
        texts = len(kept) if columns else 0
        heads = [number for _, _, number in self._sites]
        stacks = sorted({stack for stack, _, _ in self._sites})
        stack_of_head = np.repeat([stacks.index(stack) for stack, _, _ in self._sites], heads)
        layer_of_head = np.repeat([layer for _, layer, _ in self._sites], heads)
        table = {
            "text": _column("text", np.repeat(self.first_text + kept[:texts], sum(heads))),
            "stack": pa.DictionaryArray.from_arrays(
                np.tile(stack_of_head.astype(np.int8), texts), stacks
            ).cast(column_type("stack")),
            "layer": _column("layer", np.tile(layer_of_head, texts)),
            "head": _column(
                "head", np.tile(np.concatenate([np.arange(1, n + 1) for n in heads]), texts)
            ),
        }
        if columns:
            table["texts"] = _column("texts", np.ones(texts * sum(heads)))
        for name, values in columns.items():
            # Columns are most of what a shard takes: none is copied that need not be.
            there = values if texts == self.texts else values[kept]
            table[name] = _column(name, there.ravel())
        return pa.table(table)


def _column(name: str, values: NDArray[np.generic]) -> pa.Array:
    """Numbers as the column of that name is stored; null for NaN."""
    return pa.array(values, from_pandas=True).cast(column_type(name))


def _sum_in_order(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum over texts, one after the other: the very additions that reducing the rows makes."""
    total = np.zeros(values.shape[1:])
    for place in places:
        total += values[place]
    return total
