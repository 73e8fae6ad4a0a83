"""Bombs: files of a few kilobytes that unpack to more than anybody could read.

Text is packed to a third or a tenth of its size, hardly ever to a hundredth. What unpacks to far
more, beyond a size that nobody minds, was made to fill memory, a disk, or a day.
"""

import gzip
import io
from typing import Any

from headscope.errors import CorpusError, shortened

MAX_RATIO = 200
"""The most that a file may unpack to, as a multiple of its size."""
HARMLESS_BYTES = 1 << 28
"""What unpacks to less than this, 256 MiB, may have any ratio."""


def refuse_bomb(name: str, *, unpacked: int, stored: int, harmless: int | None = None) -> None:
    """Refuse a file that unpacks to much more than it holds.

    Args:
        name: Of the file.
        unpacked: Number of bytes that came out of it so far.
        stored: Its size in bytes.
        harmless: Number of bytes that may come out of any file (default: `HARMLESS_BYTES`).
    """
    harmless = HARMLESS_BYTES if harmless is None else harmless
    if unpacked > harmless and unpacked > MAX_RATIO * stored:
        raise CorpusError(
            f"{shortened(name)} has {stored:,} bytes and unpacks to more than {unpacked:,}: beyond "
            f"{harmless >> 20} MiB, at most {MAX_RATIO} times the size is read; "
            "if you trust it, unpack it yourself, or write it as .jsonl"
        )


class BoundedStream(io.RawIOBase):
    """The bytes that a decompressor gives, until they are too many.

    Args:
        unpacked: The decompressor.
        name: Of the file.
        stored: Its size in bytes.
    """

    def __init__(self, unpacked: gzip.GzipFile, name: str, stored: int) -> None:
        super().__init__()
        self._unpacked = unpacked
        self._name = name
        self._stored = stored
        self._n_bytes = 0

    def readable(self) -> bool:
        """True: it is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; the number of bytes, 0 at the end.

        Args:
            buffer: To be filled.
        """
        data = self._unpacked.read(len(buffer))
        buffer[: len(data)] = data
        self._n_bytes += len(data)
        refuse_bomb(self._name, unpacked=self._n_bytes, stored=self._stored)
        return len(data)
