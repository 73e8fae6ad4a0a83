"""The Parquet files of a run: as one table, once their checksums are verified, and bounded.

Parquet keeps a value that is repeated once, so a few kilobytes can stand for gigabytes. What would
take far more memory than its file is refused before it does.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_unchanged

if TYPE_CHECKING:
    import pyarrow.dataset as ds

MOST_RATIO = 200
"""The most that a table may take in memory, as a multiple of its file."""
HARMLESS_BYTES = 1 << 26
"""What takes less than this, 64 MiB, may have any ratio."""


def open_verified(
    files: Mapping[Path, str],
    *,
    required: tuple[str, ...],
    type_of: Callable[[str], pa.DataType | None],
    advice: str,
    within: Path,
) -> "ds.Dataset":
    """The dataset of some files, in order.

    Args:
        files: Each file with the SHA-256 that it must have.
        required: Columns that must be there.
        type_of: The type that a column must have; None for a column that must not be there.
        advice: What to do about a file that is missing or damaged.
        within: The run folder that they belong to.
    """
    # Here, because importing it imports pandas, which those who measure do not need.
    import pyarrow.dataset as ds

    for path, expected in files.items():
        if not is_unchanged(path, expected, within=within):
            raise RunError(f"{path} is missing or damaged; {advice}")
    first = next(iter(files))
    _refuse_without_threads(first)
    with refuse_unreadable(str(first)):
        dataset = ds.dataset([str(path) for path in files], format="parquet")
    found = {field.name: field.type for field in dataset.schema}
    missing = set(required) - set(found)
    wrong = {name for name, type_ in found.items() if type_ != type_of(name)}
    if missing or wrong:
        names = ", ".join(repr(name[:40]) for name in sorted(missing | wrong)[:5])
        raise RunError(
            f"{first} is not a table of headscope: {names} missing or of a wrong type; {advice}"
        )
    # What the files say to pandas about themselves is neither checked nor needed.
    return dataset.replace_schema(dataset.schema.remove_metadata())


def _refuse_without_threads(path: Path) -> None:
    """Arrow reads on threads of its own, and waits for ever where none can be started."""
    try:
        threading.Thread(target=int).start()
    except RuntimeError as error:
        raise RunError(
            f"cannot read {path}: this user may not start more threads (ulimit -u); end other "
            "programs"
        ) from error


@contextmanager
def refuse_unreadable(what: str) -> Iterator[None]:
    """Errors of Arrow, and of impossible rows, become a RunError that names `what`.

    Checksums show what was damaged after writing; a file may also have been written wrong, or by
    another program.
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError, IndexError) as error:
        raise RunError(
            f"{what} cannot be read: {in_one_line(error)}; take a whole copy of the run, or "
            "analyse the corpus again"
        ) from error


def refuse_wrong_shape(
    file: pq.ParquetFile, schema: pa.Schema, *, rows: int, values: int | None = None
) -> None:
    """ValueError for a file with other columns, rows or more values, before it is unpacked.

    Args:
        file: Opened; only its footer has been read.
        schema: The columns that it must have, and no others.
        rows: The number of rows that it must have.
        values: Maximum number of values of a column of lists; None for one a row.
    """
    names = file.schema_arrow.names
    if sorted(names) != sorted(schema.names):
        other = sorted(set(names) ^ set(schema.names)) or sorted(names)
        raise ValueError(f"its columns are others: {', '.join(repr(n[:40]) for n in other[:5])}")
    for field in file.schema_arrow:
        if field.type != schema.field(field.name).type:
            raise ValueError(f"column {field.name!r} is of another type: {str(field.type)[:40]}")
    if file.metadata.num_rows != rows:
        raise ValueError(f"it has {file.metadata.num_rows} rows, not {rows}")
    for group in range(file.metadata.num_row_groups):
        chunks = file.metadata.row_group(group)
        for column in range(chunks.num_columns):
            if chunks.column(column).num_values > max(rows, values or 0):
                raise ValueError(f"column {column + 1} claims more values than its rows can hold")


def read_bounded(
    source: Path | bytes, file: pq.ParquetFile, columns: list[str] | None = None
) -> pa.Table:
    """The columns of a file; ValueError if they would take far more memory than it.

    Args:
        source: Its path or content.
        file: The same, opened; only its footer has been read.
        columns: Which ones; None for all.
    """
    stored = len(source) if isinstance(source, bytes) else source.stat().st_size
    refuse_swollen(file, stored)
    names = columns or file.schema_arrow.names
    # Texts that are repeated are in memory once until it is known how long all of them are.
    packed = pq.ParquetFile(
        pa.BufferReader(source) if isinstance(source, bytes) else source,
        metadata=file.metadata,
        read_dictionary=_texts(file),
        pre_buffer=False,
    )
    with packed:
        # On this thread: Arrow's own threads would each hold on to memory afterwards.
        table = packed.read(columns=names, use_threads=False)
    _refuse(sum(map(_text_bytes, table.columns)), stored)
    return table.cast(pa.schema([file.schema_arrow.field(name) for name in table.column_names]))


def refuse_swollen(file: pq.ParquetFile, stored: int) -> None:
    """ValueError for a file whose numbers would take far more memory than it, by its footer.

    Args:
        file: Opened; only its footer has been read.
        stored: Its size in bytes.
    """
    width = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4}
    unpacked = 0
    for group in range(file.metadata.num_row_groups):
        chunks = file.metadata.row_group(group)
        for column in map(chunks.column, range(chunks.num_columns)):
            values = column.num_values * width.get(column.physical_type, 8)
            unpacked += max(values, column.total_uncompressed_size)
    _refuse(unpacked, stored)


def _refuse(unpacked: int, stored: int) -> None:
    if unpacked > max(HARMLESS_BYTES, MOST_RATIO * stored):
        raise ValueError(
            f"its {stored:,} bytes would take {unpacked:,} in memory; at most {MOST_RATIO} times "
            "the size is read"
        )


def _texts(file: pq.ParquetFile) -> list[str]:
    columns = map(file.schema.column, range(len(file.schema.names)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _text_bytes(column: pa.ChunkedArray) -> int:
    """The size of all texts of a column, or of its lists, each counted as often as it stands."""
    total = 0
    for chunk in column.chunks:
        values = chunk.flatten() if pa.types.is_list(chunk.type) else chunk
        if pa.types.is_dictionary(values.type):
            lengths = pc.binary_length(values.dictionary).cast(pa.int64())
            total += pc.sum(lengths.take(values.indices)).as_py() or 0
    return total
