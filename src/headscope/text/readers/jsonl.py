"""JSON lines: one object per line, one document per object."""

import json
from collections.abc import Iterator

from headscope.errors import CorpusError
from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import SourceFile


def read_jsonl(source: SourceFile, columns: Columns) -> Iterator[Document]:
    """The documents of a .jsonl file, in order; blank lines are skipped."""
    for number, line in enumerate(source.lines(), start=1):
        if not line.strip():
            continue
        where = f"{source.name} line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where} is not valid JSON: {error}; correct that line") from None
        if not isinstance(row, dict):
            raise CorpusError(f"{where} is not a JSON object; write one object per line")
        yield columns.document(row, where=where, default_id=f"{source.name}:{number}")


JSONL = Reader(name="jsonl", endings=(".jsonl",), read=read_jsonl, holds="a line is a document")
