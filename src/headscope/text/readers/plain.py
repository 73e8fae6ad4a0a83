"""Plain text and Markdown: one file, one document."""

from collections.abc import Iterator

from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.reader import Reader
from headscope.text.readers.source_file import SourceFile


def read_plain(source: SourceFile, columns: Columns | None = None) -> Iterator[Document]:
    """The file as one document, paragraphs and all.

    Blank lines end sentences; they do not divide a file into documents. Markdown is read as plain
    text; its markup becomes punctuation tokens.
    """
    yield Document(id=source.name, text=source.text())


PLAIN = Reader(
    name="plain", endings=(".txt", ".md"), read=read_plain, holds="the file is one document"
)
