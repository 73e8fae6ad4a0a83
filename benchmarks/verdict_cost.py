"""How much more does a run cost with untrained models and every analysis choice, than without both?

python benchmarks/verdict_cost.py MODEL CORPUS [--texts 2000] [--repeats 1] [--parts 16]

`--parts 16` measures 16 windows in each of the ways that a run does, in CPU seconds, and works out
the ratio for a run of `--texts` windows from that: minutes instead of an hour. Reading the corpus
is not counted, which would make the ratio smaller.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import headscope as hs
from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.shard import measure_windows
from headscope.measuring.untrained import null_settings
from headscope.models.loaded import LoadedModel
from headscope.settings import NULL_SEEDS, NULL_WINDOWS, SAMPLE_WINDOWS, Settings


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


def parts(model: LoadedModel, corpus: list[str], windows: int) -> dict[str, float]:
    """CPU seconds of a window as a run measures it, in its sample, and by an untrained model.

    The last is that of making an untrained model.

    Args:
        model: The trained model.
        corpus: Its first windows are read.
        windows: Number of windows.
    """
    with tempfile.TemporaryDirectory() as folder:
        # Everything is compiled here, too.
        run = hs.analyze(
            model,
            corpus,
            texts=windows,
            first=True,
            out=Path(folder) / "run",
            nulls=1,
            null_seeds=2,
            robustness=2,
            report=False,
            progress=False,
        )
        read = run.files.read_windows_at(np.arange(windows))
    settings, sites = run.manifest.settings, model.sites_of(None)

    def measured(by: LoadedModel, how: Settings, *, every_choice: bool) -> None:
        choices = ChoiceCollector(np.arange(windows), sites, how) if every_choice else None
        measure_windows(by, read, how, sites=sites, on_windows=lambda *_: None, choices=choices)

    made: list[LoadedModel] = []
    minimal, of_null = replace(settings, minimal=True), null_settings(settings)
    return {
        "a window": cpu_seconds(lambda: measured(model, settings, every_choice=False)) / windows,
        "in the sample": cpu_seconds(lambda: measured(model, minimal, every_choice=True)) / windows,
        "an untrained model": cpu_seconds(lambda: made.append(model.untrained(0))),
        "of its windows": cpu_seconds(lambda: measured(made[0], of_null, every_choice=True))
        / windows,
    }


def cpu_seconds(task: Callable[[], object]) -> float:
    """The time that this process works on a task."""
    start = time.process_time()
    task()
    return time.process_time() - start


def ratio_of(found: dict[str, float], texts: int) -> float:
    """What a run with untrained models and every choice costs, over one without both."""
    of_nulls = found["an untrained model"] + NULL_WINDOWS * found["of its windows"]
    extra = SAMPLE_WINDOWS * found["in the sample"] + NULL_SEEDS * of_nulls
    return 1 + extra / (texts * found["a window"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--parts", type=int, help="measure this number of windows in each way")
    args = parser.parse_args()
    model = hs.load_model(args.model)
    if args.parts:
        for _ in range(args.repeats):
            found = parts(model, args.corpus, args.parts)
            told = ", ".join(f"{name} {value:.2f} s" for name, value in found.items())
            ratio = ratio_of(found, args.texts)
            print(f"{model.name}: {told}; {args.texts} windows: ratio {ratio:.2f}", flush=True)
        return
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
