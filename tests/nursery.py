"""Processes that start at once: forked from one that has imported all they need.

Importing torch and transformers takes longer than most of what tests run in a process of its own.
To the system a forked process is a process like any other: it is killed, runs out of disk and loses
its locks like any other.
"""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.kernels.cpu.compile_ahead import cache_folder, compile_ahead, wait_until_compiled

ROOT = Path(__file__).parents[1]
FRESH = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "headscope"]:
    del sys.modules[name]
"""
"""Code that makes a process forget headscope, so that it is imported again."""


class Nursery:
    """Starts processes that run some code with some arguments."""

    def __init__(self) -> None:
        self._mother: subprocess.Popen[str] | None = None

    def start(self, code: str, arguments: list[object], *, cwd: Path = ROOT) -> "Child":
        """A process that begins to run the code."""
        said = Path(tempfile.mkdtemp(prefix="said-"))
        for name in ("out", "err"):
            (said / name).touch()
        question = {"code": code, "arguments": [str(argument) for argument in arguments]}
        pid = self._ask(question | {"said": str(said), "cwd": str(cwd)})
        return Child(self, pid, said)

    def run(self, code: str, arguments: list[object], *, cwd: Path = ROOT) -> "Ended":
        """How a process ended that ran the code."""
        return self.start(code, arguments, cwd=cwd).wait()

    def state(self, pid: int, *, wait: bool) -> int | None:
        """The exit code of a process, negative for a signal; None while it runs."""
        return self._ask({"pid": pid, "wait": wait})

    def close(self) -> None:
        """End it; its children have ended before."""
        if self._mother:
            self._mother.communicate()

    def _ask(self, question: dict[str, object]) -> Any:
        if self._mother is None:
            command = [sys.executable, "-m", "tests.nursery"]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._mother = subprocess.Popen(command, cwd=ROOT, text=True, **pipes)
        print(json.dumps(question), file=self._mother.stdin, flush=True)
        return json.loads(self._mother.stdout.readline())


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit code, negative for a signal, and both streams of a process."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Child:
    """A process that was started."""

    nursery: Nursery
    pid: int
    said: Path
    code: int | None = None

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        if self.code is None:
            self.code = self.nursery.state(self.pid, wait=False)
        return self.code

    def wait(self) -> Ended:
        """How it ended, once it has."""
        if self.code is None:
            self.code = self.nursery.state(self.pid, wait=True)
        return Ended(self.code, *((self.said / name).read_text() for name in ("out", "err")))

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def compile_once() -> None:
    """Compile what runs need, unless it is there; where another process is at it, wait for that."""
    folder = cache_folder()
    if folder is not None:
        with (folder / "tests.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            compile_ahead(window_tokens=128)
            wait_until_compiled()


def mother() -> None:
    """Fork on request. Nothing is computed here: threads would not survive into the children."""
    import headscope.analyze
    import headscope.kernels.cpu.fused  # noqa: F401  what a run imports late
    from headscope.kernels.cpu.compile_ahead import Part
    from headscope.kernels.cpu.jit.warm_up import compile_part

    compile_once()
    compile_part(Part.WINDOWS)  # by calling it: children have the code in memory
    ended: dict[int, int] = {}
    for line in sys.stdin:
        question = json.loads(line)
        if "code" in question:
            answer: int | None = os.fork()
            if answer == 0:
                _live(**question)
        else:
            pid = question["pid"]
            if pid not in ended:
                done, status = os.waitpid(pid, 0 if question["wait"] else os.WNOHANG)
                if done:
                    ended[pid] = os.waitstatus_to_exitcode(status)
            answer = ended.get(pid)
        print(json.dumps(answer), flush=True)


def _live(code: str, arguments: list[str], said: str, cwd: str) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream, name in enumerate(("out", "err"), start=1):
        os.dup2(os.open(Path(said) / name, os.O_WRONLY | os.O_APPEND), stream)
    os.chdir(cwd)
    sys.argv = ["-c", *arguments]
    exit_code = 0
    try:
        exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        exit_code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        exit_code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    mother()
