"""The log of a run: a line of JSON for every event, for programs to read.

It is kept in the run folder, where `headscope info` finds it, and in a file that the user names.
Lines are appended and flushed one by one; after a crash only the last one may be incomplete.
"""

import json
import os
import socket
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO

from headscope.errors import StorageError, option
from headscope.system.progress import Progress
from headscope.system.unix import NO_FOLLOW, NO_WAITING, NOT_INHERITED
from headscope.system.untrusted import UntrustedFileError, refuse_links

LOG_NAME = "log.jsonl"
"""The name of the log in a run folder."""


class Journal(Progress):
    """Writes every event to one or two files.

    Every line has `time` (UTC), `elapsed_s` (since the start, by a clock that is never adjusted)
    and `event`: started, stage, progress, shard, worker ready, said, ended.
    """

    def __init__(self, path: str | Path | None = None, every_s: float = 2.0) -> None:
        self._every_s = every_s
        self._started = time.monotonic()
        self._files: list[IO[str]] = []
        self._stage = ""
        self._done = 0
        self._total: int | None = None
        self._progress_written = 0.0
        if path is not None:
            self._open(Path(path), os.O_CREAT)

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.note("ended", kind="finished")
        elif issubclass(kind, KeyboardInterrupt):
            self.note("ended", kind="interrupted")
        else:
            self.note("ended", kind=kind.__name__, message=str(error))
        for file in self._files:
            file.close()

    def keep_in(self, folder: Path) -> None:
        """Write to the log in a run folder as well from now on.

        Args:
            folder: The run folder. It may come from elsewhere: a link or a pipe is refused.
        """
        path = folder / LOG_NAME
        refuse_links(path, folder)
        # Without O_NONBLOCK, opening a pipe would wait for somebody to read from it.
        self._open(path, os.O_CREAT | NO_FOLLOW | NO_WAITING)
        status = os.fstat(self._files[-1].fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            self._files.pop().close()
            raise UntrustedFileError(
                f"{path} is not a file of this folder alone; move it away, and it is made anew"
            )
        self.note("started", host=socket.gethostname(), process=os.getpid(), run=str(folder))

    def stage(self, name: str, total: int | None = None, done: int = 0) -> None:
        """Write that a stage starts."""
        self._stage, self._total, self._done = name, total, done
        self.note("stage", stage=name, total=total, done=done)
        self._progress_written = time.monotonic()

    def advance(self, steps: int = 1) -> None:
        """Write how far the stage has got, every few seconds and at its end."""
        self._done += steps
        now = time.monotonic()
        if self._done == self._total or now - self._progress_written >= self._every_s:
            self.note("progress", stage=self._stage, total=self._total, done=self._done)
            self._progress_written = now

    def say(self, message: str, kind: str = "remark") -> None:
        """Write what people are told."""
        self.note("said", kind=kind, message=message)

    def note(self, event: str, **facts: object) -> None:
        """Write a line."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "elapsed_s": round(time.monotonic() - self._started, 3),
            "event": event,
            **facts,
        }
        text = json.dumps(line, ensure_ascii=False) + "\n"
        for file in self._files:
            try:
                file.write(text)
                file.flush()
            except OSError as error:
                # The disk may be full. The run can do without its log; if not, it fails by itself.
                self._files = [other for other in self._files if other is not file]
                self.say(f"cannot write {file.name}: {error.strerror}", kind="log")

    def _open(self, path: Path, flags: int) -> None:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | NOT_INHERITED | flags, 0o644)
            # File names may hold bytes that are not valid text.
            file = os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")
            self._files.append(file)
        except OSError as error:
            raise StorageError(
                f"cannot write the log {path}: {error.strerror}; choose another file with "
                f"{option('log')}"
            ) from error
