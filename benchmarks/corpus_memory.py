"""Does the memory of a run grow with its corpus? And how large is the run folder?

    python benchmarks/corpus_memory.py [--texts 100 1000 20000]

A random BERT of 12 x 12 heads, small in width, reads windows of 128 tokens made of the sentences of
the demo corpus in random order; everything on, no untrained models, no report. Each figure is the
peak of a process of its own, libraries included.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from headscope.models.source import find_model
from headscope.text.demo import read_demo

TOKENS = 128


def write_model(folder: Path) -> None:
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(find_model("demo").path)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=96, intermediate_size=384, num_hidden_layers=12
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_corpus(file: Path, windows: int) -> None:
    """More than enough documents for this number of windows, of sentences in random order."""
    chance = random.Random(0)
    text = " ".join(document.text.replace("\n", " ") for document in read_demo())
    sentences = [sentence.strip() for sentence in text.split(". ") if sentence.strip()]
    with file.open("w") as out:
        for _ in range(windows):
            out.write(json.dumps({"text": ". ".join(chance.choices(sentences, k=12)) + "."}) + "\n")


def analyze(model: Path, corpus: Path, windows: int, out: Path) -> tuple[float, float]:
    """Peak memory in MB, and seconds, of one run."""
    command = [sys.executable, "-m", "headscope", "analyze", "--quiet", "--no-report"]
    command += ["--nulls", "0", "--model", str(model), "--corpus", str(corpus)]
    # The first: a random sample would hold its documents in memory, as many as windows.
    command += ["--texts", str(windows), "--first", "--window", str(TOKENS), "--out", str(out)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"analyze ended with {status}")
    return used.ru_maxrss / 1000, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, nargs="+", default=[100, 1000, 20000])
    args = parser.parse_args()
    print("| windows | peak memory, MB | run folder, MB | seconds |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_model(folder / "model")
        for windows in args.texts:
            write_corpus(folder / "corpus.jsonl", windows)
            out = folder / f"run-{windows}"
            peak, seconds = analyze(folder / "model", folder / "corpus.jsonl", windows, out)
            disk = sum(file.stat().st_size for file in out.rglob("*") if file.is_file()) / 1e6
            print(f"| {windows} | {peak:.0f} | {disk:.0f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
