"""A corpus file as bytes, lines or text: gzip undone, UTF-8 checked, damage named."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from headscope.errors import CorpusError, shortened
from headscope.system.untrusted import UntrustedFileError, check_untrusted, open_untrusted
from headscope.text.readers.bombs import BoundedStream
from headscope.text.readers.line_feed import LineFeed

MAX_TEXT_BYTES = 1 << 28
"""The longest line, or undivided file, that is read: 256 MiB. Limits what a gzip bomb can do."""

STANDARD_INPUT = ("-", "/dev/stdin")
"""What stands for standard input among corpora."""

_BLOCK_BYTES = 1 << 17
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read documents from, or standard input."""

    path: Path | None
    """Where it is; None is standard input."""
    name: str
    """What its documents are named after: the same on every machine, so never a full path."""
    within: Path | None = None
    """The folder in which it was found: links below it are refused, since nobody named them."""

    @classmethod
    def standard_input(cls) -> "SourceFile":
        """What is sent to this process."""
        return cls(None, "stdin")

    @classmethod
    def at(cls, path: Path, within: Path | None = None) -> "SourceFile":
        """A file by its path.

        Args:
            path: Where it is.
            within: The folder in which it was found; None if a user named the file itself.
        """
        name = path.name if within is None else path.relative_to(within).as_posix()
        return cls(path, as_unicode(name), within)

    @property
    def kind(self) -> str:
        """The format by the file's ending, in lower case and without .gz: ".txt", ".jsonl", ..."""
        if self.path is None:
            return ".txt"
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] == ".gz":
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @property
    def gzipped(self) -> bool:
        """True when the ending says that the file is compressed."""
        return self.path is not None and self.path.suffix.lower() == ".gz"

    def check(self) -> None:
        """Refuse what is no regular file (a pipe, a device), before anything waits for it."""
        if self.path is not None:
            with refuse_damage(self.name):
                check_untrusted(self.path, within=self.within)

    @contextmanager
    def stored(self) -> Iterator[io.BufferedReader]:
        """The bytes as they are stored; standard input is left open at the end."""
        if self.path is None:
            if sys.stdin is None:
                raise CorpusError("standard input is closed; send a text, or name a file")
            yield cast("io.BufferedReader", sys.stdin.buffer)
            return
        with open_untrusted(self.path, within=self.within) as stream:
            yield stream

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """The bytes of the file, decompressed."""
        with self.stored() as stream:
            if not self.gzipped:
                yield stream
                return
            stored_bytes = os.fstat(stream.fileno()).st_size
            with gzip.GzipFile(fileobj=stream, mode="rb") as unpacked:
                bounded = BoundedStream(unpacked, self.name, stored_bytes)
                yield io.BufferedReader(bounded, _BLOCK_BYTES)

    @contextmanager
    def feed(self) -> Iterator[LineFeed]:
        """The lines, for formats that pass over blank ones; a byte order mark is dropped."""
        with refuse_damage(self.name), self.open() as stream:
            yield LineFeed(stream, self.name, self._decode, MAX_TEXT_BYTES)

    def lines(self) -> Iterator[str]:
        """The lines with their endings, one in memory at a time; a byte order mark is dropped."""
        with self.feed() as feed:
            while line := feed.line():
                yield line

    def text(self) -> str:
        """The whole file; a byte order mark is dropped."""
        with refuse_damage(self.name), self.open() as stream:
            return self._decode(stream.read(MAX_TEXT_BYTES + 1), 0, 1)

    def pieces(self, size: int = 1 << 16) -> Iterator[str]:
        """The text in pieces of about `size` bytes, one in memory at a time, whatever its lines."""
        with refuse_damage(self.name), self.open() as stream:
            n_bytes, number, rest = 0, 1, b""
            while data := stream.read(size):
                data = rest + data
                whole = len(data) - _unfinished_bytes(data)
                data, rest = data[:whole], data[whole:]
                if data:
                    yield self._decode(data, n_bytes, number)
                n_bytes += len(data)
                number += data.count(b"\n")
            if rest:
                yield self._decode(rest, n_bytes, number)

    def _decode(self, data: bytes, first_byte: int, first_line: int) -> str:
        name = shortened(self.name)
        if len(data) > MAX_TEXT_BYTES:
            raise CorpusError(
                f"{name} line {first_line}: a text of more than {MAX_TEXT_BYTES >> 20} MiB; "
                "divide it into documents, for example one per line of a .jsonl file"
            )
        if first_byte == 0:
            if data.startswith(_UTF_16_MARKS):
                raise CorpusError(
                    f"{name} is UTF-16 text; convert it: "
                    f"iconv -f UTF-16 -t UTF-8 {name} > converted{self.kind}"
                )
            skipped = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
            data, first_byte = data[skipped:], skipped
        nul = data.find(b"\0")
        if nul >= 0:
            line = first_line + data.count(b"\n", 0, nul)
            raise CorpusError(
                f"{name} is a binary file: NUL at byte {first_byte + nul} (line {line}); "
                "give a text, or name its format by its ending"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = first_line + data.count(b"\n", 0, error.start)
            raise CorpusError(
                f"{name} is not valid UTF-8: byte {data[error.start]:#04x} at position "
                f"{first_byte + error.start} (line {line}); convert it to UTF-8, as iconv does"
            ) from None


def _unfinished_bytes(data: bytes) -> int:
    """How many bytes at the end begin a UTF-8 character that continues after them."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0b1100_0000 == 0b1000_0000:
            continue  # inside a character: its first byte is further back
        length = 1 + (byte >= 0b1100_0000) + (byte >= 0b1110_0000) + (byte >= 0b1111_0000)
        return back if length > back else 0
    return 0


def as_unicode(name: str) -> str:
    r"""A file name as text: bytes that are no UTF-8, which Python keeps as surrogates, as \xff.

    >>> as_unicode("na\udcefve.txt")
    'na\\xefve.txt'

    Args:
        name: As the file system gives it.
    """
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


@contextmanager
def refuse_damage(name: str) -> Iterator[None]:
    """Errors of the file system and of gzip become a `CorpusError` that names the source."""
    name = shortened(name)
    try:
        yield
    except UntrustedFileError as error:
        raise CorpusError(f"cannot read {name}: {as_unicode(str(error))}") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = " ".join(reason.split())  # Arrow writes several lines
        raise CorpusError(f"cannot read {name}: {reason}; check the file") from error
