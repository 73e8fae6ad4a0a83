"""What analysing costs against a plain forward pass of the same model over the same batches.

Interleaved in one run: bare forward (sdpa attention, inference mode), then headscope with every
measure, sweep and permutation, then bare again, and so on. Printed is the median of the ratios of
neighbours, so that a machine that slows down in between favours neither side.

    python benchmarks/forward_ratio.py [--repeats 7] [--texts 64]
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, PreTrainedModel

from headscope.measure_windows import measure_windows
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.settings import Settings
from headscope.text.batches import batches
from headscope.text.demo import read_demo
from headscope.text.windows import Window, iter_windows
from headscope.token_labels import label_tokens

SETTINGS = Settings()


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_forward(model: PreTrainedModel, windows: list[Window]) -> None:
    with torch.inference_mode():
        for places in batches(windows, max_tokens=SETTINGS.batch_tokens):
            labels = label_tokens([windows[place] for place in places])
            model(input_ids=labels.token_ids, attention_mask=labels.real.long())


def compare(
    name: str, bare: PreTrainedModel, tapped: LoadedModel, windows: list[Window], repeats: int
) -> None:
    def analysed() -> None:
        measure_windows(tapped, windows, SETTINGS, sites=tapped.sites)

    bare_forward(bare, windows)
    analysed()
    ratios, per_text = [], []
    for _ in range(repeats):
        plain = seconds(lambda: bare_forward(bare, windows))
        ratios.append(seconds(analysed) / plain)
        per_text.append(1000 * plain / len(windows))
    print(
        f"{name:36} bare {statistics.median(per_text):6.1f} ms a text, analysed "
        f"{statistics.median(ratios):.2f} times that ({min(ratios):.2f} to {max(ratios):.2f})"
    )


def base_geometry(path: Path) -> tuple[PreTrainedModel, LoadedModel]:
    """BERT-base with random weights, bare and tapped: weights do not matter for speed."""
    torch.manual_seed(0)
    bare, tapped = BertModel(BertConfig()).eval(), BertModel(BertConfig()).eval()
    return bare, load_model(tapped, tokenizer=AutoTokenizer.from_pretrained(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--texts", type=int, default=64)
    args = parser.parse_args()
    demo = load_model("demo")
    windows = list(
        iter_windows(
            read_demo(), demo.tokenizer, window_tokens=128, min_tokens=126, limit=args.texts
        )
    )
    print(f"{torch.get_num_threads()} threads, {len(windows)} texts of 128 tokens, everything on")
    bare = AutoModel.from_pretrained(demo.path).eval()
    compare("demo (MiniLM, 6 x 12, d 384)", bare, demo, windows, args.repeats)
    compare("BERT-base geometry (12 x 12, d 768)", *base_geometry(demo.path), windows, args.repeats)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the process, all four models in it: {peak:,.0f} MB")


if __name__ == "__main__":
    main()
