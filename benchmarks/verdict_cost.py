"""How much more does a run cost with untrained models and every analysis choice, than without both?

python benchmarks/verdict_cost.py MODEL CORPUS [--texts 2000] [--repeats 1] [--scale 0.1]

`--scale 0.1` measures a tenth of everything: windows, sample, windows of each untrained model. The
ratio for the whole is then worked out: what does not grow with the windows (reading the corpus) is
measured apart and counted once; what both add is counted ten times, making untrained models
included, which does not grow either, so that the true ratio is lower.
"""

import argparse
import tempfile
import time
from pathlib import Path

import headscope as hs
from headscope.models.loaded import LoadedModel
from headscope.settings import NULL_SEEDS, NULL_WINDOWS, SAMPLE_WINDOWS


def seconds(
    model: LoadedModel, corpus: list[str], texts: int, **options: int
) -> tuple[float, float]:
    """Seconds of a whole run without its report: of a clock, and of both cores' work.

    The second hardly depends on what else the machine does.
    """
    with tempfile.TemporaryDirectory() as folder:
        start, cpu = time.perf_counter(), time.process_time()
        hs.analyze(
            model,
            corpus,
            texts=texts,
            out=Path(folder) / "run",
            report=False,
            progress=False,
            **options,
        )
        return time.perf_counter() - start, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    model = hs.load_model(args.model)
    # Compiled code is made, and files are in memory, before anything is timed.
    seconds(model, args.corpus, 20, nulls=2, null_seeds=2)
    texts, nulls, robustness = (
        max(round(args.scale * number), 1) for number in (args.texts, NULL_WINDOWS, SAMPLE_WINDOWS)
    )
    with_both = {"nulls": nulls, "null_seeds": NULL_SEEDS, "robustness": robustness}
    few = max(texts // 10, 1)
    for _ in range(args.repeats):
        start = seconds(model, args.corpus, few, nulls=0)
        without = seconds(model, args.corpus, texts, nulls=0)
        both = seconds(model, args.corpus, texts, **with_both)
        for kind, least, plain, whole in zip(("clock", "CPU"), start, without, both, strict=True):
            a_window = (plain - least) / (texts - few)
            of_all = plain + (args.texts - texts) * a_window
            ratio = 1 + (whole - plain) / args.scale / of_all
            print(
                f"{model.name}, {kind}: {few} windows {least:.0f} s, {texts} windows {plain:.0f} s "
                f"without both, {whole:.0f} s with {NULL_SEEDS} untrained models of {nulls} "
                f"windows and {robustness} windows under every choice: ratio {ratio:.2f} for "
                f"{args.texts} windows",
                flush=True,
            )


if __name__ == "__main__":
    main()
