"""JSON lines: one object per line, one document per object."""

import json
from collections.abc import Iterator

from headscope.errors import CorpusError, in_one_line, shortened
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import SourceFile


def read_jsonl(source: SourceFile, columns: Columns) -> Iterator[Document]:
    """The documents of a .jsonl file, in order; blank lines are skipped."""
    with source.feed() as feed:
        while line := feed.line_with_text():
            where = f"{shortened(source.name)} line {feed.number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CorpusError(
                    f"{where} is not valid JSON: {in_one_line(error)}; correct that line"
                ) from None
            if not isinstance(row, dict):
                raise CorpusError(f"{where} is not a JSON object; write one object per line")
            yield columns.document(row, where=where, default_id=f"{source.name}:{feed.number}")


JSONL = Reader(name="jsonl", endings=(".jsonl",), read=read_jsonl, holds="a line is a document")
