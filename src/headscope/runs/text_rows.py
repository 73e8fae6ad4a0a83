"""Numbers of the texts of a shard, by column, while batches come in."""

import math
import threading
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from headscope.free_memory import array_apart

Columns = Mapping[str, NDArray[np.float64]]


class TextRows:
    """Columns of shape (text, head, ...), each text at its place; several threads may fill them.

    The heads of all layers lie side by side, stack after stack.
    """

    def __init__(self, texts: int, heads: Mapping[str, int]) -> None:
        """So many texts, and so many heads in each stack, all layers together."""
        self._texts = texts
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
        """Keep what was measured of the texts at some places, of all heads of a stack."""
        with self._making:
            if new := {name: columns[name] for name in columns if name not in self._columns}:
                self._columns |= self._empty(new)
        for name, values in columns.items():
            self._columns[name][places, self._heads[stack]] = values

    def _empty(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        """Room for these columns of all texts and heads, NaN at first."""
        rows = self._texts * self._all_heads
        widths = {name: math.prod(values.shape[2:]) for name, values in columns.items()}
        room = array_apart((sum(widths.values()) * rows,))
        room.fill(np.nan)
        parts = np.split(room, np.cumsum([*widths.values()])[:-1] * rows)
        return {
            name: part.reshape(self._texts, self._all_heads, *columns[name].shape[2:])
            for name, part in zip(columns, parts, strict=True)
        }
