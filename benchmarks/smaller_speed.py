"""How much faster, and smaller, is a model whose pruned heads are cut out?

    python benchmarks/smaller_speed.py MODEL [--shares 0.2 0.5] [--texts 8] [--rounds 7]

Heads go by written deviation over the demo corpus. The intact model and the one in `smaller/` read
the same batch of windows of 128 tokens in turns, one thread, plain sdpa attention; the ratio is the
median over rounds of CPU seconds. Where heads share keys and values, only whole groups are cut out.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from common.models_and_windows import windows_of
from headscope.intervene.head_scores import written_scores
from headscope.intervene.projection_edit import edits_without
from headscope.intervene.pruned_folder import SMALLER_FOLDER, holds_bias, write_pruned
from headscope.measuring.outcome import Outcome
from headscope.measuring.writes import measure_writes
from headscope.models.load import load_model


def seconds(model: Any, inputs: dict[str, torch.Tensor]) -> float:
    started = time.process_time()
    with torch.inference_mode():
        model(**inputs)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.2, 0.5])
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = load_model(given.model, head=True)
    windows = windows_of(model.tokenizer, 128, given.texts)
    inputs = dict(Outcome(model).prepare(windows).inputs)
    measured = measure_writes(model, windows, outer=False)
    scores = written_scores(measured, "written_deviation")
    order = sorted(scores, key=lambda head: (scores[head], head))
    bias = all(holds_bias(model, writes) for writes in measured.writes.found.values())
    for share in given.shares:
        gone = order[: round(share * len(order))]
        edits = edits_without(model, gone, measured, "mean" if bias else "zero")
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "pruned"
            reason = write_pruned(model, edits, folder, {})
            if reason is not None:
                print(f"{share:.0%}: no smaller model: {reason}")
                continue
            smaller = load_model(folder / SMALLER_FOLDER, head=True)
        cut = len(order) - sum(site.heads for site in smaller.sites)
        for each in (model, smaller):
            each.model.set_attn_implementation("sdpa")
            seconds(each.model, inputs)
        ratios = [
            seconds(smaller.model, inputs) / seconds(model.model, inputs)
            for _ in range(given.rounds)
        ]
        print(
            f"{given.model}: {len(gone)} of {len(order)} heads gone, {cut} cut out; weights "
            f"{smaller.n_parameters / model.n_parameters:.3f}, time of a forward pass "
            f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
