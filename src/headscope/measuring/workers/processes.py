"""Workers as processes on this machine: both ends of the pipe.

Each is a Python process that reads lines of JSON from its standard input and answers with lines of
JSON on its standard output. It ends when its input ends, so it never outlives this process.
"""

import json
import os
import queue
import selectors
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
from headscope.system.unix import signal_name

_COMMAND = [sys.executable, "-m", "headscope.measuring.workers.processes"]
_EXIT_WAIT_S = 5.0


class LocalProcesses:
    """A pool of processes, which replaces those that die."""

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
        """Number of processes that wait for a shard."""
        return len(self._free)

    def give(self, number: int) -> None:
        """Give a shard to the process that has waited longest."""
        self._free.pop(0).give(number)

    def next_event(self) -> WorkerEvent:
        """Wait for the next event in any of the processes."""
        while True:
            for key, _ in self._answers.select():
                event = self._read_answer(key.data)
                if event is not None:
                    return event

    def _start(self) -> None:
        process = _Process(self._recipe)
        self._all.add(process)
        self._answers.register(process.answers, selectors.EVENT_READ, process)

    def _read_answer(self, process: "_Process") -> WorkerEvent | None:
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
    """One worker, seen from this process."""

    def __init__(self, recipe: WorkerRecipe) -> None:
        threads = str(recipe.threads)
        # Its standard error goes to an unnamed file, which is read only if it dies.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # Ctrl-C in a terminal goes to all processes of a session, but we end the workers.
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
        """End it at once."""
        self._process.kill()
        self._process.wait()
        self._errors.close()
        self.answers.close()
        with suppress(BrokenPipeError):
            self._tasks.close()

    def reason_of_death(self) -> str:
        """Why it ended by itself, in words. It is cleaned up after this."""
        try:
            # Its output ends a moment before the process itself does.
            code = self._process.wait(timeout=_EXIT_WAIT_S)
        except subprocess.TimeoutExpired:
            code = 0
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        self.kill()
        if code < 0:
            return f"killed by {signal_name(-code)}"
        return " ".join(lines[-1].split())[:300] if lines else f"ended with code {code}"

    def _tell(self, task: dict[str, object]) -> None:
        with suppress(BrokenPipeError):  # it is dead then, and its answers will end
            self._tasks.write(json.dumps(task).encode() + b"\n")
            self._tasks.flush()


def _error(name: str, message: str) -> HeadscopeError:
    """The error that a worker reported, as if it had occurred here."""
    error_class = getattr(errors, name, HeadscopeError)
    error: HeadscopeError = error_class(message)
    return error


def main() -> None:
    """Read shard numbers from standard input, and report each written shard on standard output."""
    # What libraries print must not get between our lines.
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
    """Pass tasks on; when there are no more to come, end the process at once."""
    for line in tasks_in:
        tasks.put(json.loads(line))
    os._exit(0)


def _answer(answers: IO[bytes], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    main()
