"""Do memory and open files stay flat over thousands of small shards?

    python benchmarks/soak.py [--shards 3000] [--workers 2] [--on local|ray]

The model is tiny and random, so that the handling of shards (read, measure, write, report) is
measured and not arithmetic. Memory and open files of the starting process and of all its children
are sampled throughout; printed are their means over ten equal parts of the run, and the slope of a
straight line through the second half.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from transformers import AutoTokenizer, BertConfig, BertModel

from headscope.models.source import find_model

SCRIPT = """
import json, sys, headscope as hs
model, corpus, out, options = sys.argv[1:]
hs.analyze(model, corpus, out=out, window=24, min_tokens=4, shard_windows=1, nulls=0, minimal=True,
    report=False, progress=False, **json.loads(options))
"""
WORDS = "The cat sat on the mat and the dog did not sit on it at all ."


@dataclass(frozen=True)
class Sample:
    """What all processes of the run use together, at one moment."""

    shards: int
    megabytes: float
    files: int
    processes: int


def prepare(folder: Path, shards: int) -> tuple[Path, Path]:
    """A tiny model with the demo's tokenizer, and a corpus of one short text a shard."""
    tokenizer = AutoTokenizer.from_pretrained(find_model("demo").path)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    BertModel(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    corpus = folder / "texts.jsonl"
    corpus.write_text(
        "".join(json.dumps({"text": f"{WORDS} {number}"}) + "\n" for number in range(shards))
    )
    return folder / "model", corpus


def sample(process: psutil.Process, shards: Path) -> Sample:
    everyone = [process, *process.children(recursive=True)]
    memory, files = 0.0, 0
    for one in everyone:
        try:
            memory += one.memory_info().rss / 2**20
            files += one.num_fds()
        except psutil.Error:
            continue
    return Sample(sum(1 for _ in shards.glob("*.json")), memory, files, len(everyone))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--on", default="local")
    parser.add_argument("--every", type=float, default=0.5, help="seconds between samples")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        model, corpus = prepare(folder, arguments.shards)
        options = {"on": arguments.on, "threads": 1}
        if arguments.workers:
            options["workers"] = arguments.workers
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, model, corpus, folder / "run", json.dumps(options)]
        )
        watched = psutil.Process(process.pid)
        samples: list[Sample] = []
        while process.poll() is None:
            samples.append(sample(watched, folder / "run" / "shards"))
            time.sleep(arguments.every)
        elapsed = time.monotonic() - begun
    if process.returncode:
        sys.exit("the run failed")
    working = [one for one in samples if 0 < one.shards < arguments.shards]
    print(f"{arguments.shards} shards in {elapsed:.0f} s, {len(working)} samples")
    print("| shards | memory, MB | open files | processes |\n| --- | --- | --- | --- |")
    for part in np.array_split(np.arange(len(working)), min(10, len(working))):
        some = [working[place] for place in part]
        means = [
            np.mean([getattr(one, name) for one in some])
            for name in ("shards", "megabytes", "files", "processes")
        ]
        print(f"| {means[0]:.0f} | {means[1]:.0f} | {means[2]:.1f} | {means[3]:.1f} |")
    half = working[len(working) // 2 :]
    shards = [one.shards for one in half]
    print(
        f"slope over the second half, per 1,000 shards: "
        f"{1000 * np.polyfit(shards, [one.megabytes for one in half], 1)[0]:+.2f} MB, "
        f"{1000 * np.polyfit(shards, [one.files for one in half], 1)[0]:+.3f} files"
    )


if __name__ == "__main__":
    main()
