"""CSV and TSV: a header, then one document per row."""

import csv
from collections.abc import Iterator

from headscope.errors import CorpusError
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import MAX_TEXT_BYTES, SourceFile


def read_delimited(source: SourceFile, columns: Columns) -> Iterator[Document]:
    """The documents of a .csv or .tsv file, in order.

    Cells missing at the end of a row are empty. A row with more cells than the header is refused:
    most likely its text holds an unquoted delimiter, and would be cut short.
    """
    csv.field_size_limit(MAX_TEXT_BYTES)  # the module's own limit, 128 KiB, is short for a document
    delimiter = "\t" if source.kind == ".tsv" else ","
    rows = csv.reader(source.lines(), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    number = 0
    try:
        for cells in rows:
            if not cells:
                continue
            if header is None:
                header = cells
                columns.check(header, f"{source.name} line {rows.line_num}")
                continue
            number += 1
            where = f"{source.name} line {rows.line_num}"
            if any(cells[len(header) :]):
                raise CorpusError(
                    f"{where} has {len(cells)} cells, the header has {len(header)}; "
                    "put cells that contain the delimiter in double quotes"
                )
            cells += [""] * (len(header) - len(cells))
            row = dict(zip(header, cells, strict=False))
            yield columns.document(row, where=where, default_id=f"{source.name}:{number}")
    except csv.Error as error:
        raise CorpusError(
            f"{source.name} line {rows.line_num}: {error}; check the quotes in that row"
        ) from None


DELIMITED = Reader(
    name="delimited",
    endings=(".csv", ".tsv"),
    read=read_delimited,
    holds="a row is a document",
)
