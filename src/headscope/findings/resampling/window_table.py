"""The rows of a run as arrays: a number per window, layer and head, for each column asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from jaxtyping import Float64, Int

from headscope.findings.resampling.documents import document_numbers
from headscope.runs.manifest import Manifest


@dataclass(frozen=True, eq=False)
class WindowTable:
    """Columns of one attention stack."""

    columns: dict[str, Float64[np.ndarray, "window layer head"]]
    """NaN where a layer has no such head, a column does not apply, or an older run has none."""
    document: Int[np.ndarray, " window"]
    """The number of each window's document; copies of a text have one number."""
    layers: tuple[int, ...]
    """The numbers of the layers."""

    def numbered(self, document: Int[np.ndarray, " window"]) -> "WindowTable":
        """The same windows with other numbers for their documents.

        Args:
            document: The number of each window's document.
        """
        return WindowTable(self.columns, document, self.layers)

    @property
    def windows(self) -> int:
        """Number of windows."""
        return len(self.document)

    @property
    def documents(self) -> int:
        """Number of documents, in which copies of a text count as one."""
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
    there = [name for name in columns if name in rows.schema.names]
    wanted = ["text", "layer", "head", *there]
    for batch in rows.to_batches(columns=wanted, filter=pc.field("stack") == stack):
        place = (
            batch["text"].to_numpy(),
            np.searchsorted(layers, batch["layer"].to_numpy()),
            batch["head"].to_numpy() - 1,
        )
        for name in there:
            arrays[name][place] = batch[name].to_numpy(zero_copy_only=False)
    (document,) = document_numbers(windows)
    return WindowTable(arrays, document, tuple(layers))
