"""Parquet: one document per row, read batch by batch."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from headscope.errors import CorpusError, in_one_line, shortened
from headscope.text.document import Document
from headscope.text.readers.bombs import refuse_bomb
from headscope.text.readers.columns import Columns, listed_columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import SourceFile, refuse_damage

_ROWS_AT_ONCE = 256
MAX_UNPACKED_BYTES = 1 << 34
"""The most that a gzipped file may unpack to on disk. Limits what a gzip bomb can do."""
HARMLESS_TABLE_BYTES = 1 << 26
"""What texts of any table may add up to, 64 MiB, however small its file: a text that is repeated
is stored once."""


def read_parquet(source: SourceFile, columns: Columns) -> Iterator[Document]:
    """The documents of a .parquet file, in order; only the columns asked for are read."""
    import pyarrow as pa  # here, since all readers are imported for the help of --corpus

    name = shortened(source.name)
    with refuse_damage(name), _seekable(source) as stream:
        try:
            yield from _read(stream, source, columns)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise CorpusError(
                f"cannot read {name} as Parquet: {in_one_line(error)}; check the file"
            ) from error


def _read(stream: IO[bytes], source: SourceFile, columns: Columns) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(stream)
    schema = parquet.schema_arrow
    name = shortened(source.name)
    columns.check(schema.names, name)
    size = os.fstat(stream.fileno()).st_size
    _refuse_packed_bombs(parquet.metadata, name, size)
    type_ = schema.field(columns.text).type
    values = type_.value_type if pa.types.is_dictionary(type_) else type_
    if not (
        pa.types.is_string(values)
        or pa.types.is_large_string(values)
        or pa.types.is_string_view(values)
        or pa.types.is_null(values)
    ):
        raise CorpusError(
            f"{name}: column {shortened(columns.text)!r} holds {str(type_)[:200]}, not text; "
            f"its columns are: {listed_columns(schema.names)}"
        )
    # A text that is repeated many times may be stored once: so it is in memory, too.
    strings = [name for name in columns.names() if pa.types.is_string(schema.field(name).type)]
    parquet = pq.ParquetFile(stream, metadata=parquet.metadata, read_dictionary=strings)
    number = 0
    unpacked = 0
    for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns.names()):
        unpacked += sum(map(_text_bytes, batch.columns))
        refuse_bomb(name, unpacked=unpacked, stored=size, harmless=HARMLESS_TABLE_BYTES)
        for place in range(batch.num_rows):
            row = {column: batch.column(column)[place].as_py() for column in columns.names()}
            number += 1
            where = f"{name} row {number}"
            yield columns.document(row, where=where, default_id=f"{source.name}:{number}")


def _refuse_packed_bombs(metadata: Any, name: str, size: int) -> None:
    """Refuse row groups that say themselves that they unpack to any size."""
    for number in range(metadata.num_row_groups):
        unpacked = metadata.row_group(number).total_byte_size
        refuse_bomb(name, unpacked=unpacked, stored=size, harmless=HARMLESS_TABLE_BYTES)


def _text_bytes(column: Any) -> int:
    """The size of all texts of a column, also where a text that is repeated is stored once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        if not pa.types.is_string(column.type.value_type):
            return 0
        lengths = pc.binary_length(column.dictionary).cast(pa.int64())
        return int(pc.sum(lengths.take(column.indices)).as_py() or 0)
    return int(column.nbytes)


@contextmanager
def _seekable(source: SourceFile) -> Iterator[IO[bytes]]:
    """The file itself, or a temporary copy if it is gzipped: Parquet is read from its end."""
    if source.path is not None and not source.gzipped:
        with source.stored() as stored:
            yield stored
        return
    with tempfile.TemporaryFile() as copy:
        with source.open() as stream:
            while piece := stream.read(1 << 20):
                copy.write(piece)
                if copy.tell() > MAX_UNPACKED_BYTES:
                    raise CorpusError(
                        f"{shortened(source.name)} unpacks to more than "
                        f"{MAX_UNPACKED_BYTES >> 30} GiB; unpack it yourself if you trust it: "
                        "Parquet is compressed inside"
                    )
        copy.seek(0)
        yield copy


PARQUET = Reader(
    name="parquet", endings=(".parquet",), read=read_parquet, holds="a row is a document"
)
