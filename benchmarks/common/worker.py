"""A process that measures one way, seen from the process that gives it its turns."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


class WorkerFailed(Exception):
    """What happened to a worker, in one line."""


class Worker:
    """A process that runs `one_way.py`: it reads all windows once whenever it is told to."""

    def __init__(self, *arguments: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  open as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "common.one_way", *arguments],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(_import_folders())},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def reply(self) -> dict[str, Any]:
        """The next thing the worker says; WorkerFailed if it failed or has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(self._ending())
        values: dict[str, Any] = json.loads(line)
        if "failed" in values:
            raise WorkerFailed(values["failed"])
        return values

    def run_once(self) -> dict[str, Any]:
        """The seconds it took, and its peak memory so far in MB."""
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


def _import_folders() -> list[str]:
    """Where a worker finds this package, then whatever this process was told."""
    told = os.environ.get("PYTHONPATH")
    return [str(Path(__file__).parents[1]), *([told] if told else [])]
