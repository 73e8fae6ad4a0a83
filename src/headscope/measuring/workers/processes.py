"""Workers as processes of this machine: both ends of the pipe.

Each is a Python of its own, told what to do by lines of JSON on its standard input, and answering
by lines of JSON on its standard output. It ends when its input ends, however this process ends.
"""

import json
import os
import queue
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any

from headscope import errors
from headscope.errors import HeadscopeError
from headscope.measuring.workers.dispatch import WorkerEvent, WorkerLost, WorkerReady
from headscope.measuring.workers.shard_worker import ShardDone, ShardWorker, WorkerRecipe

_COMMAND = [sys.executable, "-m", "headscope.measuring.workers.processes"]
_LAST_BREATH_S = 5.0


class LocalProcesses:
    """A pool of processes, which are replaced when they die."""

    def __init__(self, recipe: WorkerRecipe, workers: int) -> None:
        self._recipe = recipe
        self._workers = workers
        self._free: list[_Process] = []
        self._all: set[_Process] = set()
        self._answers = selectors.DefaultSelector()

    def __enter__(self) -> "LocalProcesses":
        for _ in range(self._workers):
            self._start()
        return self

    def __exit__(self, *raised: object) -> None:
        for process in self._all:
            process.kill()
        self._answers.close()

    @property
    def free(self) -> int:
        """How many processes wait for a shard."""
        return len(self._free)

    def give(self, number: int) -> None:
        """Give a shard to the process that has waited longest."""
        self._free.pop(0).give(number)

    def next_event(self) -> WorkerEvent:
        """What happens next in any of the processes."""
        while True:
            for key, _ in self._answers.select():
                news = self._hear(key.data)
                if news is not None:
                    return news

    def _start(self) -> None:
        process = _Process(self._recipe)
        self._all.add(process)
        self._answers.register(process.answers, selectors.EVENT_READ, process)

    def _hear(self, process: "_Process") -> WorkerEvent | None:
        line = process.answers.readline()
        if not line:
            return self._replace(process)
        answer = json.loads(line)
        if "error" in answer:
            raise _error(answer["error"], answer["message"])
        process.shard = None
        self._free.append(process)
        if "ready" in answer:
            process.name = answer["ready"]
            return WorkerReady(process.name)
        return ShardDone(**answer)

    def _replace(self, process: "_Process") -> WorkerLost:
        self._answers.unregister(process.answers)
        self._all.discard(process)
        if process in self._free:
            self._free.remove(process)
        reason = process.reason_of_death()
        self._start()
        return WorkerLost(process.name, process.shard, reason)


class _Process:
    """One worker, seen from outside."""

    def __init__(self, recipe: WorkerRecipe) -> None:
        threads = str(recipe.threads)
        # What it complains of goes to a file without a name, read only if it dies.
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            # Ctrl-C in a terminal goes to all processes of a session: workers are ended by us.
            start_new_session=True,
            env=os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._tasks: IO[bytes] = self._process.stdin
        self.answers: IO[bytes] = self._process.stdout
        self.name = f"process {self._process.pid}"
        self.shard: int | None = None
        self._tell(asdict(recipe))

    def give(self, number: int) -> None:
        """Have it measure a shard."""
        self.shard = number
        self._tell({"shard": number})

    def kill(self) -> None:
        """End it, in the middle of whatever it does."""
        self._process.kill()
        self._process.wait()
        self._complaints.close()
        self.answers.close()
        with suppress(BrokenPipeError):
            self._tasks.close()

    def reason_of_death(self) -> str:
        """Why it ended by itself, in words; nothing is left of it after this."""
        try:
            # Its output ends a moment before the process itself does.
            code = self._process.wait(timeout=_LAST_BREATH_S)
        except subprocess.TimeoutExpired:
            code = 0
        self._complaints.seek(0)
        complaints = self._complaints.read().decode(errors="replace").strip().splitlines()
        self.kill()
        if code < 0:
            return f"killed by {signal.Signals(-code).name}"
        return " ".join(complaints[-1].split())[:300] if complaints else f"ended with code {code}"

    def _tell(self, task: dict[str, object]) -> None:
        with suppress(BrokenPipeError):  # It is dead, then, which its answers will tell.
            self._tasks.write(json.dumps(task).encode() + b"\n")
            self._tasks.flush()


def _error(name: str, message: str) -> HeadscopeError:
    """The error that a worker met, as if it had been met here."""
    kind = getattr(errors, name, HeadscopeError)
    error: HeadscopeError = kind(message)
    return error


def main() -> None:
    """Take shard numbers from standard input, say on standard output when each is written."""
    # Whatever a library prints must not stand between our lines.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    recipe = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    try:
        worker = ShardWorker(WorkerRecipe(**recipe))
        _answer(answers, {"ready": worker.name})
        while True:
            _answer(answers, asdict(worker.measure(tasks.get()["shard"])))
    except HeadscopeError as error:
        _answer(answers, {"error": type(error).__name__, "message": str(error)})


def _listen(tasks_in: IO[bytes], tasks: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Pass tasks on; when they end, so does the process, in the middle of whatever it does."""
    for line in tasks_in:
        tasks.put(json.loads(line))
    os._exit(0)


def _answer(answers: IO[bytes], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
