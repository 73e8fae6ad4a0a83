"""The process of one way, as the one that hands out turns sees it."""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


class WorkerFailed(Exception):
    """In one line, what happened to a worker."""


class Worker:
    """A process that runs `one_way.py`, and reads all texts once whenever it is told to."""

    def __init__(self, *arguments: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  open as long as the process
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("one_way.py")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def reply(self) -> dict[str, Any]:
        """What the worker says next; WorkerFailed when it failed or is no more."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(self._ending())
        values: dict[str, Any] = json.loads(line)
        if "failed" in values:
            raise WorkerFailed(values["failed"])
        return values

    def run_once(self) -> dict[str, Any]:
        """Its seconds, and the most memory that it took so far in MB."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerFailed(self._ending()) from None
        return self.reply()

    def close(self) -> None:
        """End it, wherever it is."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _ending(self) -> str:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            return "killed, as happens when memory runs out"
        if code < 0:
            return f"ended by {signal.Signals(-code).name}"
        self._errors.seek(0)
        said = [line.strip() for line in self._errors if line.strip()]
        return said[-1] if said else f"ended with exit code {code}"
