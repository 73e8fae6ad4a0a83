"""What analysing costs against a plain forward pass of the same model over the same batches.

Interleaved in one run: bare forward (sdpa attention, inference mode), headscope with everything on,
headscope's minimal analysis, the same analysis by hand in NumPy and in torch, and through nnsight
and TransformerLens where they are installed, then bare again, and so on. Printed is the median of
the ratios of neighbours, so that a machine that slows down in between favours neither side.

    python benchmarks/forward_ratio.py [--repeats 7] [--texts 64] [--ours] [NAME ...]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import torch
from by_hand import Reader, hooks, numpy_per_head, torch_per_layer
from peers import nnsight_reader, transformer_lens_reader
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel, PreTrainedModel

from headscope.kernels.labels import TokenLabels
from headscope.measure_windows import measure_windows
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.settings import Settings
from headscope.text.batches import batches
from headscope.text.demo import read_demo
from headscope.text.windows import Window, iter_windows
from headscope.token_labels import label_tokens

FULL, MINIMAL = Settings(permutations=64), Settings(minimal=True)


@dataclass(frozen=True)
class Configuration:
    """A model three times: bare, eager for those who use hooks, and tapped."""

    bare: PreTrainedModel
    eager: PreTrainedModel
    tapped: LoadedModel
    window_tokens: int
    texts: int
    causal: bool = False


def base_geometry(models: Path, texts: int) -> Configuration:
    """BERT-base with random weights: weights do not matter for speed."""
    torch.manual_seed(0)
    bare, tapped = BertModel(BertConfig()).eval(), BertModel(BertConfig()).eval()
    eager = BertModel._from_config(BertConfig(), attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(load_model("demo").path)
    return Configuration(bare, eager, load_model(tapped, tokenizer=tokenizer), 128, texts)


def checkpoint(name: str, window_tokens: int, at_most: int) -> Callable[..., Configuration]:
    """A real checkpoint from the folder of models; `demo` is the one that is installed."""

    def make(models: Path, texts: int) -> Configuration:
        tapped = load_model(name if name == "demo" else models / name)
        path = tapped.path
        return Configuration(
            AutoModel.from_pretrained(path, dtype="float32").eval(),
            AutoModel.from_pretrained(path, dtype="float32", attn_implementation="eager").eval(),
            tapped,
            window_tokens,
            min(texts, at_most),
            causal=tapped.sites[0].causal,
        )

    return make


CONFIGURATIONS = {
    "demo": checkpoint("demo", 128, 10**6),
    "base": base_geometry,
    "bert12": checkpoint("bert12", 128, 10**6),
    "smollm2": checkpoint("smollm2", 2048, 4),
}
FROM_MODELS = ("bert12", "smollm2")
"""Those that need a checkpoint in the folder of models."""


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_batches(windows: list[Window], work: Callable[[TokenLabels], object]) -> None:
    for places in batches(windows, max_tokens=FULL.batch_tokens):
        work(label_tokens([windows[place] for place in places]))


def ways(
    made: Configuration, windows: list[Window], *, ours: bool
) -> dict[str, Callable[[], object]]:
    def bare(labels: TokenLabels) -> None:
        with torch.inference_mode():
            # No key is needed again: a cache of them would only slow this down.
            uncached = {"use_cache": False} if made.causal else {}
            made.bare(input_ids=labels.token_ids, attention_mask=labels.real.long(), **uncached)

    def headscope(settings: Settings) -> object:
        changed = Settings(window_tokens=made.window_tokens, minimal=settings.minimal)
        return measure_windows(made.tapped, windows, changed, sites=made.tapped.sites)

    def by_hand(read: Reader) -> Callable[[], None]:
        return lambda: in_batches(windows, lambda labels: numpy_per_head(read, labels))

    tried: dict[str, Callable[[], object]] = {
        "bare": lambda: in_batches(windows, bare),
        "headscope, everything": lambda: headscope(FULL),
        "headscope, minimal": lambda: headscope(MINIMAL),
    }
    if ours:
        return tried
    tried["by hand, NumPy"] = by_hand(hooks(made.eager))
    tried["by hand, torch"] = lambda: in_batches(
        windows, lambda labels: torch_per_layer(hooks(made.eager), labels)
    )
    if find_spec("nnsight"):
        tried["nnsight, NumPy"] = by_hand(nnsight_reader(made.eager))
    if find_spec("transformer_lens") and made.tapped.path is not None:
        read = transformer_lens_reader(made.tapped.path, causal=made.causal)
        tried["TransformerLens, NumPy"] = by_hand(read)
    return tried


def compare(name: str, made: Configuration, repeats: int, *, ours: bool) -> None:
    size = made.window_tokens
    documents = read_demo()
    windows = list(
        iter_windows(
            documents,
            made.tapped.tokenizer,
            window_tokens=size,
            min_tokens=size - 2,
            limit=made.texts,
        )
    )
    tried = ways(made, windows, ours=ours)
    for work in tried.values():
        work()
    times: dict[str, list[float]] = {way: [] for way in tried}
    for _ in range(repeats):
        for way, work in tried.items():
            times[way].append(seconds(work))
    bare = times.pop("bare")
    lengths = [window.n_tokens for window in windows]
    print(
        f"{name}: {len(windows)} texts of {min(lengths)} to {max(lengths)} tokens, "
        f"bare {1000 * statistics.median(bare) / len(windows):.1f} ms a text"
    )
    for way, taken in times.items():
        least = min(taken) / min(bare)
        ratios = [mine / theirs for mine, theirs in zip(taken, bare, strict=True)]
        print(
            f"    {way:24} {statistics.median(ratios):5.2f}   "
            f"({min(ratios):.2f} to {max(ratios):.2f}; least over least {least:.2f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*CONFIGURATIONS], metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument(
        "--tokens", type=int, nargs="+", help="lengths of texts, if not the usual one"
    )
    parser.add_argument("--ours", action="store_true", help="leave out how others would do it")
    parser.add_argument("--models", type=Path, default=Path(".cache/models"))
    args = parser.parse_args()
    print(f"{torch.get_num_threads()} threads; ratios to the bare forward pass")
    for name in args.names:
        if name in FROM_MODELS and not (args.models / name).exists():
            print(f"{name}: not measured, there is no {args.models / name}")
            continue
        made = CONFIGURATIONS[name](args.models, args.texts)
        for tokens in args.tokens or [made.window_tokens]:
            compare(name, replace(made, window_tokens=tokens), args.repeats, ours=args.ours)


if __name__ == "__main__":
    main()
