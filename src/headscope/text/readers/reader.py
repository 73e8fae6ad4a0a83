"""What a reader is: a file format, by its endings, as a stream of documents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from headscope.text.document import Document
from headscope.text.readers.columns import Columns
from headscope.text.readers.source_file import SourceFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A file format that corpora come in."""

    name: str
    endings: tuple[str, ...]
    """In lower case, with the dot; each is also read with .gz after it."""
    read: Callable[[SourceFile, Columns], Iterator[Document]]
    """The documents of a file, in order, one in memory at a time."""
    holds: str
    """What a document is in such a file, in a few words."""
