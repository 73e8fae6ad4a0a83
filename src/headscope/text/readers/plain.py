"""Plain text and Markdown: one file, one document."""

from collections.abc import Iterator

from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import SourceFile


def read_plain(source: SourceFile, columns: Columns | None = None) -> Iterator[Document]:
    """The file as one document, paragraphs and all.

    Blank lines do not divide a file into documents: they end sentences only. Markdown is read as it
    is written; its marks become punctuation tokens.
    """
    yield Document(id=source.name, text=source.text())


PLAIN = Reader(
    name="plain", endings=(".txt", ".md"), read=read_plain, holds="the file is one document"
)
