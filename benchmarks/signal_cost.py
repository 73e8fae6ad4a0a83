"""How much more does a run cost with signal and noise than without? A ratio of CPU time.

    python benchmarks/signal_cost.py MODEL CORPUS [--texts 400] [--nulls 20] [--repeats 1]

Both runs have untrained models and every analysis choice, as by default, on one thread, and take
turns in one process after a first small one that compiles and warms up. `--nulls 0` leaves the
untrained models out.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import headscope as hs
from headscope.models.loaded import LoadedModel
from headscope.settings import SAMPLE_WINDOWS


def cpu_seconds(model: LoadedModel, corpus: str, texts: int, nulls: int, signal: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        hs.analyze(
            model,
            corpus,
            texts=texts,
            nulls=nulls,
            robustness=SAMPLE_WINDOWS,
            out=Path(folder) / "run",
            signal=signal,
            report=False,
            progress=False,
            threads=1,
        )
        return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--nulls", type=int, default=20, help="Windows of each untrained model.")
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args()
    model = hs.load_model(given.model)
    cpu_seconds(model, given.corpus, 4, 0, True)
    ratios = []
    for _ in range(given.repeats):
        without = cpu_seconds(model, given.corpus, given.texts, given.nulls, False)
        with_signal = cpu_seconds(model, given.corpus, given.texts, given.nulls, True)
        ratios.append(with_signal / without)
        print(f"{without:.1f} s without, {with_signal:.1f} s with: {ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
