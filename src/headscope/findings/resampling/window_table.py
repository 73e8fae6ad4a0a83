"""The rows of a run as arrays: a number per text, layer and head, for each column asked for."""

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

    columns: dict[str, Float64[np.ndarray, "text layer head"]]
    """NaN where a layer has no such head, or a column does not apply."""
    document: Int[np.ndarray, " text"]
    """The number of each text's document: windows of one document belong together."""
    layers: tuple[int, ...]
    """The numbers of the layers."""

    @property
    def texts(self) -> int:
        """Number of texts."""
        return len(self.document)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(np.unique(self.document))


def read_window_table(
    manifest: Manifest, rows: ds.Dataset, windows: ds.Dataset, stack: str, columns: Sequence[str]
) -> WindowTable:
    """The columns of a stack, from the rows and windows of a run.

    Rows are read batch by batch: what is held is the columns asked for, nothing else.
    """
    layers, heads = manifest.stack_shape(stack)
    texts = manifest.corpus.windows
    arrays = {name: np.full((texts, len(layers), heads), np.nan) for name in columns}
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
