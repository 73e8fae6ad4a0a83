"""Parquet: one document per row, read batch by batch."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

from headscope.errors import CorpusError
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import SourceFile, refuse_damage

_ROWS_AT_ONCE = 256
MAX_UNPACKED_BYTES = 1 << 34
"""The most that a gzipped file may unpack to on disk. Limits what a gzip bomb can do."""


def read_parquet(source: SourceFile, columns: Columns) -> Iterator[Document]:
    """The documents of a .parquet file, in order; only the columns asked for are read."""
    import pyarrow as pa  # here, since all readers are imported for the help of --corpus

    with refuse_damage(source.name), _seekable(source) as stream:
        try:
            yield from _read(stream, source, columns)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise CorpusError(
                f"cannot read {source.name} as Parquet: {reason}; check the file"
            ) from error


def _read(stream: IO[bytes], source: SourceFile, columns: Columns) -> Iterator[Document]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(stream)
    schema = parquet.schema_arrow
    columns.check(schema.names, source.name)
    type_ = schema.field(columns.text).type
    values = type_.value_type if pa.types.is_dictionary(type_) else type_
    if not (
        pa.types.is_string(values)
        or pa.types.is_large_string(values)
        or pa.types.is_string_view(values)
        or pa.types.is_null(values)
    ):
        raise CorpusError(
            f"{source.name}: column {columns.text!r} holds {str(type_)[:200]}, not text; "
            f"its columns are: {', '.join(repr(name[:40]) for name in schema.names[:20])}"
        )
    # A text that is repeated many times may be stored once: so it is in memory, too.
    strings = [name for name in columns.names() if pa.types.is_string(schema.field(name).type)]
    parquet = pq.ParquetFile(stream, metadata=parquet.metadata, read_dictionary=strings)
    number = 0
    for batch in parquet.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns.names()):
        for place in range(batch.num_rows):
            row = {name: batch.column(name)[place].as_py() for name in batch.schema.names}
            number += 1
            where = f"{source.name} row {number}"
            yield columns.document(row, where=where, default_id=f"{source.name}:{number}")


def _seekable(source: SourceFile) -> IO[bytes]:
    """The file itself, or a temporary copy if it is gzipped: Parquet is read from its end."""
    if source.path is not None and not source.gzipped:
        return source.path.open("rb")
    with ExitStack() as on_error:
        copy = on_error.enter_context(tempfile.TemporaryFile())
        with source.open() as stream:
            while piece := stream.read(1 << 20):
                copy.write(piece)
                if copy.tell() > MAX_UNPACKED_BYTES:
                    raise CorpusError(
                        f"{source.name} unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB; "
                        "unpack it yourself if you trust it: Parquet is compressed inside"
                    )
        copy.seek(0)
        on_error.pop_all()  # the caller closes it
        return copy


PARQUET = Reader(
    name="parquet", endings=(".parquet",), read=read_parquet, holds="a row is a document"
)
