"""Fuzzing: damaged, random and made-up input to every reader and to the run loader.

    make fuzz        10,000 inputs

Each input is read, or answered with a HeadscopeError of one line, within 10 seconds. Anything else
is a failure, printed with the seed that makes the same input again.
"""

import argparse
import gzip
import hashlib
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import headscope as hs
from headscope.errors import HeadscopeError
from headscope.measuring.reduce import reduce_run
from headscope.models.tokenizer import HeadscopeTokenizer
from headscope.runs.examples import read_examples
from headscope.runs.log_reader import read_progress
from headscope.text.corpus import read_corpus
from headscope.text.readers import file_endings
from headscope.text.readers.columns import Columns
from headscope.text.windows import cut_windows
from tests.compare.tiny_bert import tokenizer_of_all
from tests.faults.mutate import mutated, mutated_json, mutated_text, random_text
from tests.faults.seed_files import KEPT, LOG, SEEDS

LIMIT_S = 10
"""Of computing, for one input."""
STUCK_S = 300
"""On the wall, for one that waits. Long, since the machine may be busy with other things."""
ONE_IN = 10
"""One in so many inputs is a run, the others are corpora."""


class HangError(Exception):
    """An input that took longer than the limit."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one input."""

    kind: str
    how: str
    """`read`, `refused`, or what went wrong."""
    seconds: float

    @property
    def failed(self) -> bool:
        return self.how not in ("read", "refused")


def fuzz(seeds: range) -> Iterator[Outcome]:
    """The outcome of the input of each seed."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            chance = random.Random(seed)
            make = run_input if seed % ONE_IN == 0 else corpus_input
            kind, read = make(chance, Path(folder))
            started = time.process_time()
            how = _try(read)
            yield Outcome(kind, how, time.process_time() - started)


def _try(read: Callable[[], None]) -> str:
    try:
        with time_limit():
            read()
    except HeadscopeError as error:
        one_line = "\n" not in str(error) and len(str(error)) < 2000
        return "refused" if one_line else f"not one line: {str(error)[:300]!r}"
    except HangError:
        return f"longer than {LIMIT_S} s"
    except Exception:
        return traceback.format_exc()
    return "read"


@contextmanager
def time_limit() -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise HangError

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    signal.alarm(STUCK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def corpus_input(chance: random.Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """A file of any kind, and what reads it: documents, then sentences, words and windows."""
    kind = chance.choice(file_endings())
    content = _content(kind, chance)
    if chance.random() < 0.2:
        content = gzip.compress(content, 1)
        content = mutated(content, chance) if chance.random() < 0.5 else content
        kind += ".gz"
    path = folder / f"corpus{kind}"
    path.write_bytes(content)
    label, name = chance.choice([None, "genre"]), chance.choice([None, "id"])

    def read() -> None:
        for number, document in enumerate(read_corpus([path], Columns(id=name, label=label))):
            for text in (document.text, document.id, document.label or ""):
                text.encode("utf-8")
            if number < 3:
                list(cut_windows(document, _tokenizer(), window_tokens=32, min_tokens=2))

    return f"corpus {kind}", read


def _content(kind: str, chance: random.Random) -> bytes:
    how = chance.random()
    if how < 0.15:
        return chance.randbytes(chance.randrange(2000))
    if how < 0.3:
        return random_text(chance).encode("utf-8", "surrogatepass")
    if how < 0.6 and kind != ".parquet":
        return mutated_text(chance.choice(SEEDS[kind]).decode(), chance).encode()
    return mutated(chance.choice(SEEDS[kind]), chance)


def run_input(chance: random.Random, folder: Path) -> tuple[str, Callable[[], None]]:
    """A run with a file spoilt, by accident or with its checksum put right, and all readers."""
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(chance.choice(sorted(KEPT.iterdir())), run)
    (run / "log.jsonl").write_bytes(LOG)
    path = chance.choice(sorted(path for path in run.rglob("*") if path.is_file()))
    kind = f"run, {path.parent.name + '/*' if path.parent != run else path.stem}{path.suffix}"
    if path.suffix == ".json" and chance.random() < 0.8:
        values = mutated_json(json.loads(path.read_text()), chance)
        path.write_text(json.dumps(values), errors="surrogatepass")
    elif path.suffix == ".jsonl" and chance.random() < 0.8:
        lines = [mutated_json(json.loads(line), chance) for line in path.read_text().splitlines()]
        path.write_text("\n".join(json.dumps(line) for line in lines), errors="surrogatepass")
    else:
        path.write_bytes(mutated(path.read_bytes(), chance))
        if path.suffix not in (".json", ".jsonl") and chance.random() < 0.5:
            _put_checksum_right(run, path)
    # Reading results.nc takes most of a second: only where it, or now and then the manifest, is
    # what was spoilt.
    results = path.suffix == ".nc" or (path.name == "manifest.json" and chance.random() < 0.1)

    def read() -> None:
        opened = hs.open_run(run)
        str(opened)
        for reading in [*READINGS, *(RESULT_READINGS if results else [])]:
            how = _try(lambda: reading(opened))  # noqa: B023  called at once
            if how not in ("read", "refused"):
                raise AssertionError(how)

    return kind, read


def _read_log(run: hs.Run) -> None:
    live = read_progress(run.folder)
    if live is not None:
        str((live.left, live.end))


READINGS: list[Callable[[hs.Run], object]] = [
    _read_log,
    lambda run: run.left_out,
    lambda run: run.rows(),
    lambda run: run.windows(),
    lambda run: run.findings.window_table(run.manifest.stacks[0], ["pairs", "distance_sum"]),
    lambda run: run.stability(splits=2),
    lambda run: read_examples(run.folder, run.manifest),
    lambda run: [run.shards.read(number) for number in range(run.manifest.shards)],
]
RESULT_READINGS: list[Callable[[hs.Run], object]] = [
    lambda run: run.heads,
    lambda run: run.layers,
    lambda run: run.roles,
    lambda run: reduce_run(run.files),
]


def _put_checksum_right(run: Path, path: Path) -> None:
    """What an attacker would do: no checksum tells that the file is another."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if path.parent.name == "shards":
        receipt = path.with_suffix(".json")
        receipt.write_text(json.dumps(json.loads(receipt.read_text()) | {path.suffix[1:]: digest}))
    elif path.name == "results.nc":
        (run / "results.json").write_text(json.dumps({path.name: digest}))
    elif path.parent.name == "windows":
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["corpus"]["window_hashes"][int(path.stem)] = digest
        (run / "manifest.json").write_text(json.dumps(manifest))


@cache
def _tokenizer() -> HeadscopeTokenizer:
    return HeadscopeTokenizer(tokenizer_of_all(), 128)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="Of the first input.")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.seed, options.seed + options.inputs)
    inputs: Counter[str] = Counter()
    outcomes: Counter[tuple[str, str]] = Counter()
    slowest: dict[str, float] = {}
    for seed, outcome in zip(seeds, fuzz(seeds), strict=True):
        inputs[outcome.kind] += 1
        outcomes[outcome.kind, "failed" if outcome.failed else outcome.how] += 1
        slowest[outcome.kind] = max(slowest.get(outcome.kind, 0), outcome.seconds)
        if outcome.failed:
            print(f"seed {seed} ({outcome.kind}): {outcome.how}", file=sys.stderr)
    print("| input | tried | read | refused | failed | slowest, s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, tried in sorted(inputs.items()):
        counts = [outcomes[kind, how] for how in ("read", "refused", "failed")]
        print(f"| {kind} | {tried} | {' | '.join(map(str, counts))} | {slowest[kind]:.1f} |")
    failures = sum(count for (_, how), count in outcomes.items() if how == "failed")
    print(f"{len(seeds)} inputs, {failures} failures, slowest {max(slowest.values()):.1f} s")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
