"""One file per corpus format: each turns a source into a stream of documents.

To add one, write a file with a `Reader` and put it into `READERS` below.
"""

from headscope.system.registry import Registry
from headscope.text.readers.conllu import CONLLU
from headscope.text.readers.delimited import DELIMITED
from headscope.text.readers.jsonl import JSONL
from headscope.text.readers.parquet import PARQUET
from headscope.text.readers.plain import PLAIN
from headscope.text.readers.reader import Reader

READERS: Registry[Reader] = Registry("reader", [PLAIN, JSONL, DELIMITED, PARQUET, CONLLU])


def file_endings() -> tuple[str, ...]:
    """The endings of the files that can be read, each also with .gz after it."""
    return tuple(ending for reader in READERS for ending in reader.endings)


def reader_of(ending: str) -> Reader | None:
    """The reader of files with an ending such as `.txt`; None for an unknown one."""
    return next((reader for reader in READERS if ending in reader.endings), None)


__all__ = ["READERS", "Reader", "file_endings", "reader_of"]
