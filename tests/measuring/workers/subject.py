"""A run of a few seconds: a tiny model, a hundred shards, workers that something can happen to."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import headscope as hs
from tests.compare.tiny_bert import TEXTS, tiny_bert, tokenizer_of_all

SHARDS = 96
SETTINGS = {
    "window": 32,
    "min_tokens": 4,
    "shard_windows": 2,
    "nulls": 0,
    "permutations": 2,
    "keep_duplicates": True,  # six texts, many times: nothing is said of copies
    "report": False,
    "progress": False,
}
SCRIPT = """
import json, signal, sys, headscope as hs
# As in a terminal: what a shell starts in the background has Ctrl-C switched off.
signal.signal(signal.SIGINT, signal.default_int_handler)
model, corpus, out, options = sys.argv[1:]
hs.analyze(model, corpus, out=out, **json.loads(options))
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """A model and a corpus on disk, and how they are analysed."""

    model: Path
    corpus: Path

    @staticmethod
    def make(folder: Path) -> None:
        """Write both into a folder."""
        model, corpus = folder / "model", folder / "texts.jsonl"
        tiny_bert().save_pretrained(model)
        tokenizer_of_all().save_pretrained(model)
        texts = [TEXTS[place % len(TEXTS)] for place in range(2 * SHARDS)]
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))

    def analyse(self, out: Path, harm: Callable[[Path], None] | None = None, **options) -> hs.Run:
        """The run, finished here; `harm` is done meanwhile, in a thread, to the run in `out`."""
        if harm:
            threading.Thread(target=harm, args=[out], daemon=True).start()
        return hs.analyze(self.model, self.corpus, out=out, **SETTINGS | options)

    def arguments(self, out: Path, **options) -> list[str]:
        """What the script is told."""
        return [str(self.model), str(self.corpus), str(out), json.dumps(SETTINGS | options)]

    def start(self, out: Path, *, cores: int = 1, **options) -> subprocess.Popen:
        """The analysis as a process of its own, on so many cores."""
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *self.arguments(out, **options)],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(cores)},
        )

    def analyse_apart(self, out: Path, **options) -> hs.Run:
        """The run, finished by a process of its own."""
        process = self.start(out, **options)
        _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
        return hs.open_run(out)


def log_lines(out: Path, event: str) -> list[dict]:
    """The lines about some event in the log of a run, whole ones."""
    path = out / "log.jsonl"
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in lines if line["event"] == event]


def worker_processes(out: Path) -> list[int]:
    """The process numbers of the workers that began, in order."""
    return [int(line["worker"].split(":")[1]) for line in log_lines(out, "worker ready")]


def wait_for_shards(out: Path, number: int, process: subprocess.Popen | None = None) -> None:
    """Until workers have written so many shards, or the process has ended."""
    while len(log_lines(out, "shard")) < number and (process is None or process.poll() is None):
        time.sleep(0.01)


def assert_same_results(run: hs.Run, other: hs.Run) -> None:
    """To the last bit."""
    assert list(run.arrays.variables) == list(other.arrays.variables)
    for name, array in run.arrays.variables.items():
        assert array.values.tobytes() == other.arrays[name].values.tobytes(), name
    assert run.rows().to_table().equals(other.rows().to_table())
