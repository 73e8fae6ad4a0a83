"""How much memory does analysing one window take, by its length, beside a plain forward pass?

    python benchmarks/peak_memory.py [--model PATH] [--tokens 1024 2048 4096]

Each figure is of a process of its own: the model is loaded and reads a short window, so that code
is in memory; then comes the peak while one window is read, above what was used before, and the
peak of the whole process.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from common.process_memory import memory
from headscope.measuring.shard import measure_windows
from headscope.models.load import load_model
from headscope.models.source import find_model
from headscope.settings import Settings
from headscope.text.demo import read_demo
from headscope.text.windows import iter_windows

WAYS = ("bare", "minimal", "everything")
WARM_UP_TOKENS = 320


def read_bare(path: Path, tokens: int) -> None:
    """A forward pass with sdpa attention, without a cache of keys and values."""
    model = AutoModel.from_pretrained(path, dtype="float32").eval()
    ids = AutoTokenizer.from_pretrained(path)(" ".join(d.text for d in read_demo()))["input_ids"]

    def read(length: int) -> None:
        text = torch.tensor([ids[:length]])
        with torch.inference_mode():
            model(input_ids=text, attention_mask=torch.ones_like(text), use_cache=False)

    measure(read, tokens)


def read_with_headscope(path: Path, tokens: int, *, minimal: bool) -> None:
    """The analysis of one window."""
    model = load_model(path)

    def read(length: int) -> None:
        windows = iter_windows(
            read_demo(),
            model.tokenizer,
            window_tokens=length,
            min_tokens=length - 2,
            limit=1,
        )
        settings = Settings(window_tokens=length, minimal=minimal)
        measure_windows(model, list(windows), settings, sites=model.sites)

    measure(read, tokens)


def measure(read: Callable[[int], None], tokens: int) -> None:
    """Print how far the peak of memory is above what was used before, and the peak."""
    read(WARM_UP_TOKENS)
    before = memory("VmRSS")
    # Linux then starts counting the peak again.
    Path("/proc/self/clear_refs").write_text("5")
    read(tokens)
    print(f"{memory('VmHWM') - before:.0f} {memory('VmHWM'):.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=".cache/models/smollm2")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 2048, 4096])
    parser.add_argument("--way", choices=WAYS, help="this one alone, in this process")
    args = parser.parse_args()
    path = find_model(args.model).path
    if args.way == "bare":
        read_bare(path, args.tokens[0])
    elif args.way:
        read_with_headscope(path, args.tokens[0], minimal=args.way == "minimal")
    else:
        print("| tokens | way | above, MB | peak, MB |\n| --- | --- | --- | --- |")
        for tokens in args.tokens:
            for way in WAYS:
                command = [sys.executable, __file__, "--model", args.model, "--way", way]
                ended = subprocess.run(
                    [*command, "--tokens", str(tokens)], capture_output=True, text=True, check=True
                )
                above, peak = ended.stdout.split()[-2:]
                print(f"| {tokens} | {way} | {above} | {peak} |", flush=True)


if __name__ == "__main__":
    main()
