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
import statistics
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

# Ray starts its workers at niceness 15: beside other work, that would be what is measured.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112

import torch

import headscope as hs
from headscope.models.loaded import LoadedModel
from headscope.scale.ray_actors import connected

CORES = 2


@dataclass(frozen=True)
class Timing:
    """How fast a run was."""

    texts_a_second: float
    start_s: float
    """From the first text wanted to the first worker ready."""


def analyse(model: LoadedModel, arguments: argparse.Namespace, **workers: object) -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        run = hs.analyze(
            model,
            arguments.corpus,
            texts=arguments.texts,
            shard_windows=arguments.shard_windows,
            out=Path(folder) / "run",
            nulls=0,
            report=False,
            progress=False,
            **workers,  # type: ignore[arg-type]
        )
        log = (run.folder / "log.jsonl").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
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
    torch.set_num_threads(CORES)
    model = hs.load_model(arguments.model)
    ratios: list[float] = []
    with ExitStack() as stack:
        if arguments.on == "ray":
            stack.enter_context(connected(None, CORES))
        for _ in range(arguments.repeats):
            single = analyse(model, arguments)
            crew = analyse(model, arguments, workers=CORES, on=arguments.on)
            ratios.append(crew.texts_a_second / single.texts_a_second)
            print(
                f"one process, {CORES} threads {single.texts_a_second:.1f} texts/s; {CORES} "
                f"workers ({arguments.on}) {crew.texts_a_second:.1f} texts/s after "
                f"{crew.start_s:.1f} s; ratio {ratios[-1]:.2f}",
                flush=True,
            )
    print(f"median ratio {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
