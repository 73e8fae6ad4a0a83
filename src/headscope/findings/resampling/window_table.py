"""The rows of a run as arrays: a number per window, layer and head, for each column asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from jaxtyping import Float64, Int
from numpy.typing import NDArray

from headscope.runs.manifest import Manifest


@dataclass(frozen=True, eq=False)
class WindowTable:
    """Columns of one attention stack."""

    columns: dict[str, Float64[np.ndarray, "window layer head"]]
    """NaN where a layer has no such head, or a column does not apply."""
    document: Int[np.ndarray, " window"]
    """The number of each window's document."""
    layers: tuple[int, ...]
    """The numbers of the layers."""

    @property
    def windows(self) -> int:
        """Number of windows."""
        return len(self.document)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(np.unique(self.document))


def read_window_table(
    manifest: Manifest, rows: ds.Dataset, windows: ds.Dataset, stack: str, columns: Sequence[str]
) -> WindowTable:
    """The columns of a stack, from the rows and windows of a run.

    Rows are read batch by batch: only the columns asked for are held in memory.
    """
    layers, heads = manifest.stack_shape(stack)
    shape = (manifest.corpus.windows, len(layers), heads)
    arrays = {name: np.full(shape, np.nan) for name in columns}
    wanted = ["text", "layer", "head", *columns]
    for batch in rows.to_batches(columns=wanted, filter=pc.field("stack") == stack):
        place = (
            batch["text"].to_numpy(),
            np.searchsorted(layers, batch["layer"].to_numpy()),
            batch["head"].to_numpy() - 1,
        )
        for name in columns:
            arrays[name][place] = batch[name].to_numpy(zero_copy_only=False)
    return WindowTable(arrays, _document_numbers(windows), tuple(layers))


def _document_numbers(windows: ds.Dataset) -> NDArray[np.int64]:
    names = windows.to_table(columns=["document"])["document"].combine_chunks()
    return np.asarray(names.dictionary_encode().indices, dtype=np.int64)
