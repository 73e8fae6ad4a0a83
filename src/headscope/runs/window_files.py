"""Windows on disk: one Parquet file per shard, one row per window.

They are what every later step reads: the model, whichever worker runs it, and the report, which
shows windows without a tokenizer at hand.
"""

import io
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int32

from headscope.errors import RunError
from headscope.runs.files import is_unchanged, write_whole
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
"""All that measuring needs; the tokens as text, thousands of objects, are left out."""

WINDOW_SCHEMA = pa.schema(
    [
        pa.field("document", pa.string(), nullable=False),
        pa.field("label", pa.string()),
        pa.field("tokens", pa.list_(pa.string())),
        *(pa.field(name, pa.list_(pa.int32())) for name in ARRAY_COLUMNS),
    ]
)


def window_file(number: int) -> str:
    """The file with the windows of a shard, relative to the run folder."""
    return f"windows/{number:05d}.parquet"


def write_windows(folder: Path, number: int, windows: Sequence[Window]) -> str:
    """Write the windows of one shard into a run folder; returns the SHA-256 of the file."""
    buffer = io.BytesIO()
    pq.write_table(windows_to_table(windows), buffer, compression="zstd")
    return write_whole(folder / window_file(number), buffer.getvalue())


def read_windows(
    folder: Path, number: int, expected_hash: str, columns: list[str] | None = None
) -> list[Window]:
    """The windows of one shard, once their checksum is verified.

    Args:
        folder: The run folder.
        number: Number of the shard.
        expected_hash: The SHA-256 that the manifest has for the file.
        columns: Which columns to read; None for all.
    """
    path = folder / window_file(number)
    if not is_unchanged(path, expected_hash):
        raise RunError(f"{path} is missing or damaged; run the same analyze command again")
    # On this thread: Arrow's own threads would each hold on to memory afterwards.
    table = pq.read_table(path, columns=columns, use_threads=False, pre_buffer=False)
    return windows_from_table(table)


def windows_to_table(windows: Sequence[Window]) -> pa.Table:
    """The windows as rows, in order, in a form that DuckDB and pandas read, too."""
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
    """The windows of a table that `windows_to_table` made, exactly as they were.

    If the table has no column `tokens`, neither do the windows.
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
        for first, end in pairwise(offsets.tolist()):
            yield values[first:end]
