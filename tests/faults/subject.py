"""What faults are injected into: a run of a tiny model, by a process of its own."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import headscope as hs
from tests.compare.tiny_bert import TEXTS, tiny_bert, tokenizer_of_all

SCRIPT = """
import sys, headscope as hs
from headscope.errors import HeadscopeError
model, corpus, out, report = sys.argv[1:]
try:
    hs.analyze(model, corpus, out=out, window=32, min_tokens=4, shard_windows=2, nulls=4,
        minimal=True, report=report == "report")
except HeadscopeError as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model and a corpus on disk, and how they are analysed."""

    model: Path
    corpus: Path

    def start(self, out: Path, *, before: str = "", report: bool = False) -> subprocess.Popen:
        """The analysis as a process; `before` is code that is run first in it."""
        arguments = [self.model, self.corpus, out, "report" if report else "no report"]
        return subprocess.Popen(
            [sys.executable, "-c", before + SCRIPT, *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
        )

    def analyse(self, out: Path, **options) -> hs.Run:
        """The run, finished by a process of its own."""
        _, said = self.run(out, **options)
        assert said.code == 0, said.err
        return hs.open_run(out)

    def run(self, out: Path, **options) -> tuple[Path, "Said"]:
        """How the analysis ended."""
        process = self.start(out, **options)
        _, err = process.communicate(timeout=300)
        return out, Said(process.returncode, err)


@dataclass(frozen=True, slots=True)
class Said:
    """Exit code and standard error of a process."""

    code: int
    err: str


def make_subject(folder: Path) -> Subject:
    model = folder / "model"
    tiny_bert().save_pretrained(model)
    tokenizer_of_all().save_pretrained(model)
    corpus = folder / "texts.jsonl"
    texts = [" ".join(TEXTS[(place + k) % len(TEXTS)] for k in range(2)) for place in range(16)]
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return Subject(model, corpus)


def wait_for(process: subprocess.Popen, path: Path) -> None:
    """Until something is there, or the process has ended."""
    while process.poll() is None and not path.exists():
        time.sleep(0.001)


def assert_same_results(run: hs.Run, other: hs.Run) -> None:
    """To the last bit, those of the untrained models included."""
    assert len(run.untrained) == len(other.untrained)
    for ours, theirs in zip([run, *run.untrained], [other, *other.untrained], strict=True):
        assert list(ours.arrays.variables) == list(theirs.arrays.variables)
        for name, array in ours.arrays.variables.items():
            assert array.values.tobytes() == theirs.arrays[name].values.tobytes(), name
        assert ours.rows().to_table().equals(theirs.rows().to_table())
        assert ours.windows().to_table().equals(theirs.windows().to_table())


def assert_nothing_half_written(run: hs.Run) -> None:
    assert not list(run.folder.rglob("*.part"))
