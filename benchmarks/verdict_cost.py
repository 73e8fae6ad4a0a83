"""How much more does a run cost with untrained models and every analysis choice, than without both?

python benchmarks/verdict_cost.py MODEL CORPUS [--texts 2000] [--repeats 1]
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
    args = parser.parse_args()
    model = hs.load_model(args.model)
    # Compiled code is made, and files are in memory, before anything is timed.
    seconds(model, args.corpus, 20, nulls=2, null_seeds=2)
    with_both = {"nulls": NULL_WINDOWS, "null_seeds": NULL_SEEDS, "robustness": SAMPLE_WINDOWS}
    for _ in range(args.repeats):
        without = seconds(model, args.corpus, args.texts, nulls=0)
        both = seconds(model, args.corpus, args.texts, **with_both)
        for kind, plain, whole in zip(("clock", "CPU"), without, both, strict=True):
            print(
                f"{model.name}, {args.texts} windows, {kind}: {plain:.0f} s without, "
                f"{whole:.0f} s with {NULL_SEEDS} untrained models and {SAMPLE_WINDOWS} windows "
                f"under every choice: ratio {whole / plain:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
