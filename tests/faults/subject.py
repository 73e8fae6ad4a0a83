"""What faults are injected into: a run of a tiny model, by a process of its own."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headscope as hs
from tests.compare.tiny_bert import TEXTS, tiny_bert, tokenizer_of_all
from tests.nursery import Child, Ended, Nursery

SCRIPT = """
import sys, headscope as hs
from headscope.errors import HeadscopeError
model, corpus, out, report, nulls = sys.argv[1:]
try:
    hs.analyze(model, corpus, out=out, window=32, min_tokens=4, shard_windows=2,
        nulls=int(nulls), null_seeds=3, minimal=True, keep_duplicates=True,
        report=report == "report")
except HeadscopeError as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and a corpus on disk, and how they are analysed."""

    model: Path
    corpus: Path
    nursery: Nursery

    def start(self, out: Path, *, before: str = "", report: bool = False, nulls: int = 0) -> Child:
        """The analysis as a process; `before` is code that is run first in it."""
        arguments = [self.model, self.corpus, out, "report" if report else "no report", nulls]
        return self.nursery.start(before + SCRIPT, arguments)

    def run(self, out: Path, **options: Any) -> Ended:
        """How the analysis ended."""
        return self.start(out, **options).wait()

    def analyse(self, out: Path, **options: Any) -> hs.Run:
        """The run, finished by a process of its own."""
        said = self.run(out, **options)
        assert said.code == 0, said.err
        return hs.open_run(out)


def save_model(folder: Path) -> Path:
    tiny_bert().save_pretrained(folder)
    tokenizer_of_all().save_pretrained(folder)
    return folder


def write_corpus(path: Path) -> Path:
    """32 texts, two windows a document."""
    texts = [" ".join(TEXTS[(place + k) % len(TEXTS)] for k in range(2)) for place in range(16)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def wait_for(process: Child, path: Path) -> None:
    """Until something is there, or the process has ended."""
    while not path.exists() and process.poll() is None:
        time.sleep(0.001)


def assert_same_results(run: hs.Run, other: hs.Run) -> None:
    """To the last bit, those of the untrained models included."""
    assert len(run.untrained) == len(other.untrained)
    for ours, theirs in zip([run, *run.untrained], [other, *other.untrained], strict=True):
        for stack, arrays in ours.stacks.items():
            assert arrays.identical(theirs.stacks[stack])
        assert ours.rows().to_table().equals(theirs.rows().to_table())
        assert ours.windows().to_table().equals(theirs.windows().to_table())


def assert_nothing_half_written(run: hs.Run) -> None:
    assert not list(run.folder.rglob("*.part"))
