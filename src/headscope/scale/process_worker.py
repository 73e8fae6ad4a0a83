"""A worker process: `python -m headscope.scale.process_worker`, started by `LocalProcesses`."""

import json
import os
import queue
import sys
import threading
from dataclasses import asdict
from typing import IO, Any

from headscope.errors import HeadscopeError
from headscope.scale.shard_worker import ShardWorker, WorkerRecipe


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
