"""A run of a few seconds: a tiny model, two dozen shards, processes of its own."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import headscope as hs
from tests.compare.tiny_bert import TEXTS, tiny_bert, tokenizer_of_all

SHARDS = 24
SCRIPT = """
import json, sys, time, headscope as hs
from headscope.errors import HeadscopeError
model, corpus, out, options = sys.argv[1:]
try:
    hs.analyze(model, corpus, out=out, window=32, min_tokens=4, shard_windows=2, nulls=0,
        permutations=2, report=False, **json.loads(options))
except HeadscopeError as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""
SLOWLY = """
import headscope.runs.shards, time
write = headscope.runs.shards.ShardStore.write
def slowly(self, number, shard):
    time.sleep(0.1)
    write(self, number, shard)
headscope.runs.shards.ShardStore.write = slowly
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and a corpus on disk, and how they are analysed."""

    model: Path
    corpus: Path

    @classmethod
    def make(cls, folder: Path) -> "Subject":
        model, corpus = folder / "model", folder / "texts.jsonl"
        tiny_bert().save_pretrained(model)
        tokenizer_of_all().save_pretrained(model)
        texts = [TEXTS[place % len(TEXTS)] for place in range(2 * SHARDS)]
        corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        return cls(model, corpus)

    def start(self, out: Path, *, cores: int = 1, before: str = "", **options) -> subprocess.Popen:
        """The analysis as a process; `before` is code that is run first in it."""
        arguments = [str(self.model), str(self.corpus), str(out), json.dumps(options)]
        return subprocess.Popen(
            [sys.executable, "-c", before + SCRIPT, *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(cores)},
        )

    def analyse(self, out: Path, **options) -> hs.Run:
        """The run, finished by a process of its own."""
        process = self.start(out, **options)
        _, err = process.communicate(timeout=300)
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


def wait_for(process: subprocess.Popen, out: Path, *, event: str, times: int) -> None:
    """Until the log has so many lines about an event, or the process has ended."""
    while process.poll() is None and len(log_lines(out, event)) < times:
        time.sleep(0.01)


def assert_same_results(run: hs.Run, other: hs.Run) -> None:
    """To the last bit."""
    assert list(run.arrays.variables) == list(other.arrays.variables)
    for name, array in run.arrays.variables.items():
        assert array.values.tobytes() == other.arrays[name].values.tobytes(), name
    assert run.rows().to_table().equals(other.rows().to_table())
