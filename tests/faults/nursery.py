"""Processes that start at once: forked from one that has imported all they need.

Importing takes longer than the runs that faults are injected into. To the system a forked process
is a process like any other: it is killed, runs out of disk and loses its locks like any other.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path


class Nursery:
    """Starts processes that run some code with some arguments."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.faults.nursery"]
        self._mother = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, code: str, arguments: list[str]) -> "Child":
        """A process that begins to run the code."""
        said = Path(tempfile.mkstemp(prefix="said-")[1])
        pid = self._ask({"code": code, "arguments": arguments, "said": str(said)})
        return Child(self, pid, said)

    def state(self, pid: int, *, wait: bool) -> int | None:
        """The exit code of a process, negative for a signal; None while it runs."""
        return self._ask({"pid": pid, "wait": wait})

    def close(self) -> None:
        """End it; its children have ended before."""
        self._mother.communicate()

    def _ask(self, question: dict[str, object]) -> int | None:
        print(json.dumps(question), file=self._mother.stdin, flush=True)
        return json.loads(self._mother.stdout.readline())


@dataclass(slots=True)
class Child:
    """A process, with what it says on standard error."""

    nursery: Nursery
    pid: int
    said: Path
    code: int | None = None

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        if self.code is None:
            self.code = self.nursery.state(self.pid, wait=False)
        return self.code

    def wait(self) -> str:
        """What it said, once it has ended."""
        if self.code is None:
            self.code = self.nursery.state(self.pid, wait=True)
        return self.said.read_text()

    def signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def mother() -> None:
    """Fork on request. Nothing is computed here: threads would not survive into the children."""
    import headscope.analyze
    import headscope.kernels.cpu.fused  # noqa: F401  what a run imports late

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


def _live(code: str, arguments: list[str], said: str) -> None:
    file = os.open(said, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 2)
    os.dup2(2, 1)
    sys.argv = ["-c", *arguments]
    exit_code = 0
    try:
        exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        exit_code = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        exit_code = 1
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    mother()
