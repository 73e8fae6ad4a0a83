"""Numbers of the texts of a shard, by layer and column, while batches come in."""

import math
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from headscope.free_memory import array_apart

Columns = Mapping[str, NDArray[np.float64]]


class TextRows:
    """Columns of shape (text, ...), each text at its place; several threads may fill them."""

    def __init__(self, texts: int) -> None:
        self._texts = texts
        self._columns: defaultdict[tuple[str, int], dict[str, NDArray[np.float64]]]
        self._columns = defaultdict(dict)
        self._making = threading.Lock()

    def put(self, stack: str, layer: int, places: NDArray[np.int64], columns: Columns) -> None:
        """Keep what was measured of the texts at some places."""
        if not columns:
            return
        with self._making:
            kept = self._columns[stack, layer]
            if not kept:
                kept |= self._empty(columns)
        for name, values in columns.items():
            kept[name][places] = values

    def _empty(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        """Room for these columns of all texts, NaN at first."""
        widths = {name: math.prod(values.shape[1:]) for name, values in columns.items()}
        room = array_apart((sum(widths.values()) * self._texts,))
        room.fill(np.nan)
        parts = np.split(room, np.cumsum([*widths.values()])[:-1] * self._texts)
        return {
            name: part.reshape(self._texts, *columns[name].shape[1:])
            for name, part in zip(columns, parts, strict=True)
        }

    def layers(self) -> Iterator[tuple[str, int, Columns]]:
        """Stack, layer and columns of every layer of which there are any, in order."""
        for stack, layer in sorted(self._columns):
            yield stack, layer, self._columns[stack, layer]
