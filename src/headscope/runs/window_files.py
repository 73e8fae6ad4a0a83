"""Windows on disk: one Parquet file per shard, one row per window.

They are what every later step reads: the model, whichever worker runs it, and the report, which
shows windows without a tokenizer at hand.
"""

import io
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int32

from headscope.errors import RunError, in_one_line
from headscope.runs.files import read_bytes, refuse_if_gone, write_whole
from headscope.runs.manifest import Manifest
from headscope.runs.parquet_files import read_bounded, refuse_wrong_shape
from headscope.runs.window_check import refuse_wrong_windows
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
    "head_ids",
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
        pa.field("document_hash", pa.string()),
    ]
)

LATER_COLUMNS = {"document_hash": 3, "head_ids": 4}
"""Columns that files of older versions do not have, and the first version that has them."""


def window_file(number: int) -> str:
    """The file with the windows of a shard, relative to the run folder."""
    return f"windows/{number:05d}.parquet"


def write_windows(
    folder: Path, number: int, windows: Sequence[Window], *, within: Path | None = None
) -> str:
    """Write the windows of one shard into a run folder; returns the SHA-256 of the file.

    Args:
        folder: The run folder.
        number: Number of the shard.
        windows: In order.
        within: The run folder that this one lies in, if any.
    """
    buffer = io.BytesIO()
    pq.write_table(windows_to_table(windows), buffer, compression="zstd")
    return write_whole(folder / window_file(number), buffer.getvalue(), within=within or folder)


def read_windows(
    folder: Path,
    manifest: Manifest,
    number: int,
    columns: list[str] | None = None,
    *,
    within: Path | None = None,
) -> list[Window]:
    """The windows of one shard, once their checksum and all values are verified.

    Args:
        folder: The run folder.
        manifest: Of the run.
        number: Number of the shard.
        columns: Which columns to read; None for all.
        within: The run folder that this one lies in, if any.
    """
    return windows_from_table(
        read_window_table(folder, manifest, number, columns, within=within or folder)
    )


def read_window_table(
    folder: Path,
    manifest: Manifest,
    number: int,
    columns: list[str] | None = None,
    *,
    within: Path,
) -> pa.Table:
    """The windows of one shard as a table, once their checksum and all values are verified.

    Args:
        folder: The run folder.
        manifest: Of the run: how many windows the shard has, and how long they are.
        number: Number of the shard.
        columns: Which columns to read; None for all.
        within: The outermost run folder: `folder`, or the one that it lies in.
    """
    path = folder / window_file(number)
    corpus, settings = manifest.corpus, manifest.settings
    expected = corpus.shard_texts[number]
    try:
        content = read_bytes(path, within=within)
        if sha256(content).hexdigest() != corpus.window_hashes[number]:
            raise RunError(f"{path} is damaged; run the same analyze command again")
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        schema = _schema_of(manifest.schema, file.schema_arrow.names)
        refuse_wrong_shape(file, schema, rows=expected, values=expected * settings.window_tokens)
        table = read_bounded(content, file, columns or schema.names)
        refuse_wrong_windows(table, schema, settings)
    except OSError as error:
        refuse_if_gone(within)
        raise RunError(f"{path} is missing; run the same analyze command again") from error
    # The checksum fits, so it was written like this.
    except (pa.ArrowException, ValueError) as error:
        raise RunError(
            f"{path} does not hold windows of this run: {in_one_line(error)}; delete it and run "
            "the same analyze command again"
        ) from error
    return table


def _schema_of(version: int, found: Sequence[str]) -> pa.Schema:
    """The columns of windows in a version of the run format, given those that a file has."""
    may_lack = {name for name, since in LATER_COLUMNS.items() if version < since}
    absent = may_lack - set(found)
    return pa.schema([field for field in WINDOW_SCHEMA if field.name not in absent])


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
    columns["document_hash"] = pa.array([window.document_hash for window in windows], pa.string())
    return pa.table(columns, schema=WINDOW_SCHEMA)


def windows_from_table(table: pa.Table) -> list[Window]:
    """The windows of a table that `windows_to_table` made, exactly as they were.

    If the table has no column `tokens` or `document_hash`, neither do the windows. Without
    `head_ids`, no word is known to govern another.
    """
    there = [name for name in ARRAY_COLUMNS if name in table.column_names or name != "head_ids"]
    arrays = {name: _rows(table.column(name)) for name in there}
    if "head_ids" not in there:
        arrays["head_ids"] = (np.full_like(ids, -1) for ids in _rows(table.column("word_ids")))

    def values(name: str, if_absent: object) -> list[Any]:
        there = name in table.column_names
        return table.column(name).to_pylist() if there else [if_absent] * len(table)

    return [
        Window(
            document=document,
            label=label,
            tokens=tuple(tokens),
            **{name: next(rows) for name, rows in arrays.items()},
            document_hash=document_hash,
        )
        for document, label, tokens, document_hash in zip(
            table.column("document").to_pylist(),
            table.column("label").to_pylist(),
            values("tokens", ()),
            values("document_hash", None),
            strict=True,
        )
    ]


def _rows(column: pa.ChunkedArray) -> Iterator[Int32[np.ndarray, " token"]]:
    for chunk in column.chunks:
        values = chunk.values.to_numpy()
        offsets = chunk.offsets.to_numpy()
        for first, end in pairwise(offsets.tolist()):
            yield values[first:end]
