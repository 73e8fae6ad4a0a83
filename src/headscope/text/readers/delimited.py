"""CSV and TSV: a header, then one document per row."""

import csv
from collections.abc import Iterator
from typing import NoReturn

from headscope.errors import CorpusError, shortened
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.line_feed import LineFeed
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import MAX_TEXT_BYTES, SourceFile

MAX_CELLS = 1_000_000
"""The most cells of a row."""


def read_delimited(source: SourceFile, columns: Columns) -> Iterator[Document]:
    """The documents of a .csv or .tsv file, in order.

    Cells missing at the end of a row are empty. A row with more cells than the header is refused:
    most likely its text holds an unquoted delimiter, and would be cut short.
    """
    csv.field_size_limit(MAX_TEXT_BYTES)  # the module's own limit, 128 KiB, is short for a document
    delimiter = "\t" if source.kind == ".tsv" else ","
    name = shortened(source.name)
    with source.feed() as feed:
        lines = _RecordLines(feed, name, delimiter)
        rows = csv.reader(lines, delimiter=delimiter, strict=True)
        header: list[str] | None = None
        places: dict[str, int] = {}
        number = 0
        while True:
            lines.begin_record()
            try:
                cells = next(rows, None)
            except csv.Error as error:
                raise CorpusError(
                    f"{name} line {feed.number}: {error}, in the row that begins at line "
                    f"{lines.first_line}; check the quotes in that row"
                ) from None
            if cells is None:
                return
            where = f"{name} line {feed.number}"
            if not cells:
                continue
            if header is None:
                header = cells
                columns.check(header, where)
                places = {column: header.index(column) for column in columns.names()}
                continue
            number += 1
            if any(cells[len(header) :]):
                raise CorpusError(
                    f"{where} has {len(cells)} cells, the header has {len(header)}; "
                    "put cells that contain the delimiter in double quotes"
                )
            # Only the columns asked for: a header may have any number of others.
            row = {
                column: cells[place] if place < len(cells) else ""
                for column, place in places.items()
            }
            yield columns.document(row, where=where, default_id=f"{source.name}:{number}")


class _RecordLines:
    """The lines that the csv module asks for; within a quoted cell, many of them at once."""

    def __init__(self, feed: LineFeed, name: str, delimiter: str) -> None:
        self._feed = feed
        self._name = name
        self._delimiter = delimiter
        self._size = 0
        """Number of characters of the record so far."""
        self.first_line = 1
        """Where the record began."""

    def begin_record(self) -> None:
        self._size = 0

    def __iter__(self) -> "_RecordLines":
        return self

    def __next__(self) -> str:
        if self._size == 0:
            text = self._feed.line_with_text(b"\r\n")
            self.first_line = self._feed.number
        else:  # csv goes on with a record only where a quote is open
            text = self._feed.through_line_with(b'"', self.first_line)
        self._size += len(text)
        if self._size > MAX_TEXT_BYTES:
            self._refuse(f"has more than {MAX_TEXT_BYTES >> 20} MiB; divide it into documents")
        if text.count(self._delimiter) > MAX_CELLS and '"' not in text:
            self._refuse(f"has more than {MAX_CELLS:,} cells; quote texts that hold the delimiter")
        if not text:
            raise StopIteration
        return text

    def _refuse(self, why: str) -> NoReturn:
        raise CorpusError(f"{self._name}: the row that begins at line {self.first_line} {why}")


DELIMITED = Reader(
    name="delimited",
    endings=(".csv", ".tsv"),
    read=read_delimited,
    holds="a row is a document",
)
