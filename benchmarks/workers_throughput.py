"""Texts a second by two workers against one process with two threads, in turns, in one run.

The clock of a run starts when its first worker has loaded the model (one process: when its texts
begin) and stops with its last shard, by the run's own log. Printed are the rates, what it took to
start, and the median of the ratios of neighbours.

    python benchmarks/workers_throughput.py [--model demo] [--corpus demo] [--texts 384]
        [--shard-windows 32] [--repeats 3] [--on ray|local]
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

CORES = 2


@dataclass(frozen=True)
class Timing:
    """How fast a run was."""

    texts_a_second: float
    start_s: float
    """From the first text wanted to the first worker ready."""


def analyse(arguments: argparse.Namespace, workers: list[str]) -> Timing:
    folder = Path(tempfile.mkdtemp())
    command = [
        *(sys.executable, "-m", "headscope", "analyze", "--quiet", "--nulls", "0", "--no-report"),
        *("--model", arguments.model, "--corpus", arguments.corpus, "--out", str(folder / "run")),
        *("--texts", str(arguments.texts), "--shard-windows", str(arguments.shard_windows)),
        *workers,
    ]
    environment = os.environ | {"OMP_NUM_THREADS": str(CORES)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in (folder / "run" / "log.jsonl").read_text().splitlines()]
    shutil.rmtree(folder)
    wanted = next(line["elapsed_s"] for line in lines if line.get("stage") == "texts")
    ready = [line["elapsed_s"] for line in lines if line["event"] == "worker ready"]
    shards = [line for line in lines if line["event"] == "shard"]
    begun = min(ready, default=wanted)
    texts = sum(line["texts"] for line in shards)
    return Timing(texts / (shards[-1]["elapsed_s"] - begun), begun - wanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--texts", type=int, default=384)
    parser.add_argument("--shard-windows", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--on", default="ray")
    arguments = parser.parse_args()
    ratios: list[float] = []
    for _ in range(arguments.repeats):
        single = analyse(arguments, [])
        crew = analyse(arguments, ["--workers", str(CORES), "--on", arguments.on])
        ratios.append(crew.texts_a_second / single.texts_a_second)
        print(
            f"one process, {CORES} threads {single.texts_a_second:.1f} texts/s; {CORES} workers "
            f"({arguments.on}) {crew.texts_a_second:.1f} texts/s after {crew.start_s:.1f} s; "
            f"ratio {ratios[-1]:.2f}",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
