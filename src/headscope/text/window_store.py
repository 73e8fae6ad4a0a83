"""Windows as a table, and back: one row per window, one list a column."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from jaxtyping import Int32

from headscope.text.windows import Window

ARRAY_COLUMNS = (
    "token_ids",
    "starts",
    "ends",
    "sentence_ids",
    "word_ids",
    "form_ids",
    "lemma_ids",
    "kinds",
)
"""The fields of a window that hold one integer per token."""

MEASURED_COLUMNS = ["document", "label", *ARRAY_COLUMNS]
"""All that measuring needs: not the tokens as people read them, which are thousands of objects."""

WINDOW_SCHEMA = pa.schema(
    [
        pa.field("document", pa.string(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("tokens", pa.list_(pa.string())),
        *(pa.field(name, pa.list_(pa.int32())) for name in ARRAY_COLUMNS),
    ]
)


def windows_to_table(windows: Sequence[Window]) -> pa.Table:
    """The windows as rows, in order. Written to Parquet, DuckDB and pandas read it as it is."""
    offsets = np.cumsum([0, *(window.n_tokens for window in windows)], dtype=np.int32)
    columns = {
        "document": pa.array([window.document for window in windows], pa.string()),
        "label": pa.array([window.label for window in windows], pa.string()),
        "tokens": pa.ListArray.from_arrays(
            offsets,
            pa.array([token for window in windows for token in window.tokens], pa.string()),
        ),
    }
    for name in ARRAY_COLUMNS:
        values = [getattr(window, name) for window in windows]
        flat = np.concatenate(values) if values else np.empty(0, dtype=np.int32)
        columns[name] = pa.ListArray.from_arrays(offsets, pa.array(flat, pa.int32()))
    return pa.table(columns, schema=WINDOW_SCHEMA)


def windows_from_table(table: pa.Table) -> list[Window]:
    """The windows of a table that `windows_to_table` made, equal to the last integer.

    Without a column of tokens, windows have none to show.
    """
    arrays = {name: _rows(table.column(name)) for name in ARRAY_COLUMNS}
    has_tokens = "tokens" in table.column_names
    return [
        Window(
            document=document,
            label=label,
            tokens=tuple(tokens),
            **{name: next(rows) for name, rows in arrays.items()},
        )
        for document, label, tokens in zip(
            table.column("document").to_pylist(),
            table.column("label").to_pylist(),
            table.column("tokens").to_pylist() if has_tokens else [()] * len(table),
            strict=True,
        )
    ]


def _rows(column: pa.ChunkedArray) -> Iterator[Int32[np.ndarray, " token"]]:
    for chunk in column.chunks:
        values = chunk.values.to_numpy()
        offsets = chunk.offsets.to_numpy()
        for first, behind in pairwise(offsets.tolist()):
            yield values[first:behind]
