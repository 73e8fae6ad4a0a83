"""How much does `headscope reach` cost beside a plain forward pass, in time and in memory?

    python benchmarks/reach_cost.py .cache/models/smollm2 --window 2048
    python benchmarks/reach_cost.py .cache/models/smollm2 --window 8192 --layers 1,2 --memory

The ratio is that of CPU seconds, intact and spliced texts read in turns with a plain sdpa forward
pass of the same tokens, in one process with one thread. With `--memory` only headscope reads, and
what the process takes at most, beyond the loaded model, is printed; with `--memory --plain` the
same of a plain forward pass, so that two runs show what headscope takes above the bare model.
"""

import argparse
import statistics
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from common.process_memory import memory
from headscope.models.load import load_model
from headscope.reach.measure import measure_window, reach_sites
from headscope.reach.plan import ReachPlan
from headscope.reach.texts import Text

SKIP = ("shuffled", "repeats", "untrained")
"""Similarity in intact and spliced texts is measured, and what replacing context changes."""


def natural_text(window: int, vocabulary: int, rng: np.random.Generator) -> Text:
    """Random tokens that repeat as words of a language do."""
    ranks = 1 / np.arange(1, min(vocabulary, 20_000) + 1)
    ids = rng.choice(len(ranks), window, p=ranks / ranks.sum()).astype(np.int64)
    sinks = np.zeros(window, dtype=bool)
    sinks[:4] = True
    return Text(ids, ids, sinks, np.arange(window) // 25)


def main() -> None:
    """Print the ratio, or the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--layers", help="such as 1,2 (default: all)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--plain", action="store_true", help="memory of the plain forward pass")
    options = parser.parse_args()
    torch.set_num_threads(1)
    layers = None if options.layers is None else tuple(map(int, options.layers.split(",")))
    plan = ReachPlan(window_tokens=options.window, layers=layers, skip=SKIP)
    model = load_model(options.model)
    sites = reach_sites(model, layers)
    rng = np.random.default_rng(0)
    texts = tuple(natural_text(options.window, model.config.vocab_size, rng) for _ in range(2))
    # A short text first, so that code is in memory; the peak of loading is given back.
    short = tuple(natural_text(64, model.config.vocab_size, rng) for _ in range(2))

    def reach(texts: tuple[Text, ...], plan: ReachPlan) -> None:
        measure_window(model, sites, texts, plan)

    def plain(texts: tuple[Text, ...]) -> None:
        ids = torch.from_numpy(texts[0].token_ids)[None]
        with torch.inference_mode():
            bare(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)

    if options.plain:
        del model
    bare = load_model(options.model).model if options.plain or not options.memory else None
    if bare is not None:
        bare.set_attn_implementation("sdpa")
        plain(short)
    if not options.plain:
        reach(short, replace(plan, window_tokens=64, edges=()))
    if options.memory:
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS")
        if options.plain:
            plain(texts)
        else:
            reach(texts, plan)
        print(f"{options.window} tokens: {memory('VmHWM') - before:.0f} MB beyond the loaded model")
        return
    ratios = []
    for _ in range(options.repeats):
        started = time.process_time()
        for _ in range(2):  # intact and spliced
            plain(texts)
        alone = time.process_time() - started
        reach(texts, plan)
        ours = time.process_time() - started - alone
        ratios.append(ours / alone)
        print(f"bare {alone:.1f} s, reach {ours:.1f} s, ratio {ours / alone:.2f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
