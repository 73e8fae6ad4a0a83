"""A corpus file as bytes, lines or text: gzip undone, UTF-8 checked, damage named."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from headscope.errors import CorpusError

MAX_TEXT_BYTES = 1 << 28
"""The longest line, or undivided file, that is read: 256 MiB. Limits what a gzip bomb can do."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read documents from, or standard input."""

    path: Path | None
    """Where it is; None is standard input."""
    name: str
    """What its documents are named after: the same on every machine, so never a full path."""

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

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """The bytes of the file, decompressed; standard input is left open at the end."""
        if self.path is None:
            return nullcontext(sys.stdin.buffer)
        if self.gzipped:
            return cast("IO[bytes]", gzip.open(self.path, "rb"))
        return self.path.open("rb")

    def lines(self) -> Iterator[str]:
        """The lines with their endings, one in memory at a time; a byte order mark is dropped."""
        with refuse_damage(self.name), self.open() as stream:
            n_bytes = 0
            number = 0
            while line := stream.readline(MAX_TEXT_BYTES + 1):
                number += 1
                yield self._decode(line, first_byte=n_bytes, first_line=number)
                n_bytes += len(line)

    def text(self) -> str:
        """The whole file; a byte order mark is dropped."""
        with refuse_damage(self.name), self.open() as stream:
            return self._decode(stream.read(MAX_TEXT_BYTES + 1), first_byte=0, first_line=1)

    def pieces(self, size: int = 1 << 16) -> Iterator[str]:
        """The text in pieces of about `size` bytes, one in memory at a time, whatever its lines."""
        with refuse_damage(self.name), self.open() as stream:
            n_bytes, number, rest = 0, 1, b""
            while data := stream.read(size):
                data = rest + data
                whole = len(data) - _unfinished_bytes(data)
                data, rest = data[:whole], data[whole:]
                if data:
                    yield self._decode(data, first_byte=n_bytes, first_line=number)
                n_bytes += len(data)
                number += data.count(b"\n")
            if rest:
                yield self._decode(rest, first_byte=n_bytes, first_line=number)

    def _decode(self, data: bytes, *, first_byte: int, first_line: int) -> str:
        if len(data) > MAX_TEXT_BYTES:
            raise CorpusError(
                f"{self.name} line {first_line}: a text of more than {MAX_TEXT_BYTES >> 20} MiB; "
                "divide it into documents, for example one per line of a .jsonl file"
            )
        if first_byte == 0:
            if data.startswith(_UTF_16_MARKS):
                raise CorpusError(
                    f"{self.name} is UTF-16 text; convert it: "
                    f"iconv -f UTF-16 -t UTF-8 {self.name} > converted{self.kind}"
                )
            skipped = len(_BYTE_ORDER_MARK) if data.startswith(_BYTE_ORDER_MARK) else 0
            data, first_byte = data[skipped:], skipped
        nul = data.find(b"\0")
        if nul >= 0:
            line = first_line + data.count(b"\n", 0, nul)
            raise CorpusError(
                f"{self.name} is a binary file: NUL at byte {first_byte + nul} (line {line}); "
                "give a text, or name its format by its ending"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = first_line + data.count(b"\n", 0, error.start)
            raise CorpusError(
                f"{self.name} is not valid UTF-8: byte {data[error.start]:#04x} at position "
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


@contextmanager
def refuse_damage(name: str) -> Iterator[None]:
    """Errors of the file system and of gzip become a `CorpusError` that names the source."""
    try:
        yield
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        reason = " ".join(reason.split())  # Arrow writes several lines
        raise CorpusError(f"cannot read {name}: {reason}; check the file") from error
