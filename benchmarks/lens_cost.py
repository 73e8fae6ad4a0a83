"""How much does `headscope lens` cost beside a plain forward pass with its loss?

    python benchmarks/lens_cost.py .cache/models/smollm2 --windows 64

The ratio is that of CPU seconds in one process with one thread: batches of windows of 128 tokens,
read in turns by a transformers model with sdpa attention that gives its loss, and by what `hs.lens`
does with them (all layers, the positions that it scores by default, or `--positions`).
"""

import argparse
import statistics
import time

import torch

from headscope.lens.study import LensStudy
from headscope.measuring.outcome import Outcome
from headscope.models.load import load_model
from headscope.models.own_head import OwnHead
from headscope.settings import LENS_POSITIONS, Settings
from headscope.text.corpus import read_corpus
from headscope.text.windows import iter_windows

BATCH = 8


def main() -> None:
    """Print the ratio of each round, and their median."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--windows", type=int, default=500)
    parser.add_argument("--positions", type=int, default=LENS_POSITIONS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(options.model, head=True)
    plain = load_model(options.model, head=True).model
    plain.set_attn_implementation("sdpa")
    assert model.tokenizer is not None
    windows = list(
        iter_windows(read_corpus(["demo"]), model.tokenizer, min_tokens=120, limit=options.windows)
    )
    study = LensStudy(Outcome(model), OwnHead(model), Settings(), options.positions)
    study.measure(windows[:BATCH], lambda _: None)  # what is set up once
    ratios, bare_seconds, own_seconds = [], 0.0, 0.0
    for first in range(0, len(windows), BATCH):
        some = windows[first : first + BATCH]
        inputs = study.outcome.prepare(some).inputs
        labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
        started = time.process_time()
        with torch.inference_mode():
            plain(**inputs, labels=labels, use_cache=False)
        between = time.process_time()
        study.measure(some, lambda _: None)
        ended = time.process_time()
        bare_seconds += between - started
        own_seconds += ended - between
        ratios.append((ended - between) / (between - started))
    print(
        f"{len(windows)} windows, {options.positions} positions each: forward with loss "
        f"{bare_seconds:.1f} s, lens {own_seconds:.1f} s, ratio {own_seconds / bare_seconds:.2f}, "
        f"median of batches {statistics.median(ratios):.2f}"
    )


if __name__ == "__main__":
    main()
