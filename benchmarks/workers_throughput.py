"""Are two workers as fast as one process with two threads?

    python benchmarks/workers_throughput.py [--model demo] [--corpus demo] [--texts 384]
        [--shard-windows 32] [--repeats 3] [--on ray|local]

Both take turns in one run. Two rates of each, by the run's own log: from start to end (the clock
starts when the first worker has loaded the model, or measuring begins, and stops with the last
shard), and by the median duration of a shard, which a pause of the machine does not disturb.
Printed are the ratios of neighbouring turns.
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
from headscope.measuring.workers.ray_actors import connected
from headscope.models.loaded import LoadedModel

CORES = 2


@dataclass(frozen=True)
class Timing:
    """How fast a run was."""

    windows_a_second: float
    by_median_shard: float
    """The rate if every shard took as long as the median one, and no worker ever waited."""
    start_s: float
    """From the start of measuring to the first worker ready."""


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
    wanted = next(line["elapsed_s"] for line in lines if line.get("stage") == "windows")
    ready = [line["elapsed_s"] for line in lines if line["event"] == "worker ready"]
    shards = [line for line in lines if line["event"] == "shard"]
    begun = min(ready, default=wanted)
    texts = sum(line["texts"] for line in shards)
    median = statistics.median(line["seconds"] / line["texts"] for line in shards)
    return Timing(
        windows_a_second=texts / (shards[-1]["elapsed_s"] - begun),
        by_median_shard=max(1, len(ready)) / median,
        start_s=begun - wanted,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--texts", type=int, default=384)
    parser.add_argument("--shard-windows", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--on", default="ray")
    arguments = parser.parse_args()
    torch.set_num_threads(CORES)
    model = hs.load_model(arguments.model)
    whole: list[float] = []
    by_shard: list[float] = []
    with ExitStack() as stack:
        if arguments.on == "ray":
            stack.enter_context(connected(None, CORES))
        for _ in range(arguments.repeats):
            single = analyse(model, arguments)
            pool = analyse(model, arguments, workers=CORES, on=arguments.on)
            whole.append(pool.windows_a_second / single.windows_a_second)
            by_shard.append(pool.by_median_shard / single.by_median_shard)
            print(
                f"windows/s: one process {single.windows_a_second:.1f} "
                f"({single.by_median_shard:.1f}), workers {pool.windows_a_second:.1f} "
                f"({pool.by_median_shard:.1f}) after {pool.start_s:.1f} s; "
                f"ratio {whole[-1]:.2f} ({by_shard[-1]:.2f})",
                flush=True,
            )
    for name, ratios in (("start to end", whole), ("by the median shard", by_shard)):
        middle = statistics.median(ratios)
        print(f"{name}: median ratio {middle:.2f}, {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
