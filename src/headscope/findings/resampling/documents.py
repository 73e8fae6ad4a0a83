"""Which document a window belongs to, for everything that draws or counts documents.

Copies of a text are one document: the first of them, by the hash that windows carry
(`headscope.text.copies`). Runs of versions 1 and 2, and runs that keep duplicates, have no hashes:
there a document is its id.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray


def document_numbers(*windows: ds.Dataset) -> list[NDArray[np.int64]]:
    """The number of each window's document, for each run, from 0 in the order of appearance.

    Several runs are numbered together: a document has the same number in all of them.

    Args:
        *windows: The windows of each run.
    """
    tables = [_ids_and_hashes(of_run) for of_run in windows]
    table = pa.concat_tables(tables)
    document, text = (_codes(table[name]) for name in ("document", "document_hash"))
    _, first_with_text, number_of_text = np.unique(text, return_index=True, return_inverse=True)
    first = np.where(text < 0, np.arange(len(text)), first_with_text[number_of_text])
    numbers = pd.factorize(document[first])[0].astype(np.int64)
    return np.split(numbers, np.cumsum([len(table) for table in tables])[:-1])


def _ids_and_hashes(windows: ds.Dataset) -> pa.Table:
    if "document_hash" in windows.schema.names:
        return windows.to_table(columns=["document", "document_hash"])
    table = windows.to_table(columns=["document"])
    return table.append_column("document_hash", pa.nulls(len(table), pa.string()))


def _codes(names: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for each different name; -1 for null."""
    encoded = names.combine_chunks().dictionary_encode()
    return np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64)
