"""Lines of a file, with quick ways past what would take long line by line.

A gigabyte of newlines is a billion lines. Runs of blank lines are passed over a block at a time,
and so is a quoted cell that spans many lines.
"""

import io
from collections.abc import Callable

from headscope.errors import CorpusError, shortened

BLANK = b" \t\r\n"
"""What blank lines are made of. Rarer white space is blank, too, and read line by line."""

Decode = Callable[[bytes, int, int], str]
"""Text from bytes, given the number of the first byte, from 0, and of the first line, from 1."""


class LineFeed:
    """The lines of a stream, one in memory at a time.

    Args:
        stream: The bytes.
        name: Of the file, for messages.
        decode: Makes text of them.
        longest: Number of bytes of the longest line.
    """

    def __init__(self, stream: io.BufferedReader, name: str, decode: Decode, longest: int) -> None:
        self._stream = stream
        self._name = name
        self._decode = decode
        self._longest = longest
        self._n_bytes = 0
        self.number = 0
        """The number of the last line that was read, from 1."""
        self.after_blank = False
        """Whether there were blank lines before the last line that was read."""

    def line(self) -> str:
        """The next line with its ending; empty at the end."""
        data = self._stream.readline(self._longest + 1)
        self.number += bool(data)
        return self._text(data, self.number) if data else ""

    def line_with_text(self, blank: bytes = BLANK) -> str:
        """The next line that is not blank; empty at the end.

        Args:
            blank: The bytes that blank lines are made of.
        """
        self.after_blank = False
        while line := self.line():
            if line.strip(blank.decode()):
                break
            self.after_blank = True
            self._pass_blank_lines(blank)
        return line

    def through_line_with(self, sign: bytes, first_line: int) -> str:
        """All text through the end of the line that holds the next sign, or of the file.

        Args:
            sign: A byte, such as a quotation mark.
            first_line: Where the text began that this continues, for the message if it is too long.
        """
        pieces: list[bytes] = []
        size, found = 0, -1
        while found < 0 and (block := self._stream.peek()):
            found = block.find(sign)
            data = self._stream.read(len(block) if found < 0 else found + 1)
            if found >= 0:
                data += self._stream.readline(self._longest + 1)
            pieces.append(data)
            size += len(data)
            if size > self._longest:
                raise CorpusError(
                    f"{shortened(self._name)} line {first_line}: a quoted cell that begins there "
                    f"has more than {self._longest >> 20} MiB; close its quote, or divide it into "
                    "documents"
                )
        text = b"".join(pieces)
        first = self.number + 1
        self.number += text.count(b"\n") + bool(text and not text.endswith(b"\n"))
        return self._text(text, first) if text else ""

    def _pass_blank_lines(self, blank: bytes) -> None:
        while block := self._stream.peek():
            room = len(block) - len(block.lstrip(blank))
            whole = block.rfind(b"\n", 0, room) + 1  # the next line may begin with white space
            if not whole:
                return
            self._stream.read(whole)
            self._n_bytes += whole
            self.number += block.count(b"\n", 0, whole)

    def _text(self, data: bytes, first_line: int) -> str:
        text = self._decode(data, self._n_bytes, first_line)
        self._n_bytes += len(data)
        return text
