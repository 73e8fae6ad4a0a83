"""Does signal to noise tell trained heads from untrained ones? The table of docs/causes.md.

    python benchmarks/signal_auc.py CORPUS.conllu.gz MODEL [MODEL ...] --windows 24 --seeds 10

The same windows are read by the trained model and by untrained ones of several seeds. AUC: how
often a trained head has more signal than an untrained one. Covered: share of untrained heads whose
95 % interval contains zero.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.signal_of_heads import signal_of_heads
from headscope.measures.signal import RELATIONS
from headscope.measuring.sample import choose_sample
from headscope.models import load_model
from headscope.settings import Settings
from headscope.text.readers.conllu import read_conllu
from headscope.text.readers.source_file import SourceFile
from headscope.text.windows import iter_windows


def auc(trained: NDArray[np.float64], untrained: NDArray[np.float64]) -> float | None:
    """How often a trained head has more than an untrained one; ties count half."""
    trained, untrained = trained[np.isfinite(trained)], untrained[np.isfinite(untrained)]
    if not len(trained) or not len(untrained):
        return None
    order = np.sort(untrained)
    below = np.searchsorted(order, trained, "left") + np.searchsorted(order, trained, "right")
    return float(below.mean() / 2 / len(untrained))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--windows", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    settings = Settings()
    documents = list(read_conllu(SourceFile.at(Path(given.corpus))))
    for name in given.models:
        started = time.process_time()
        model = load_model(name)
        every = list(iter_windows(documents, model.tokenizer))
        every = [window for window in every if window.n_tokens == settings.window_tokens]
        chosen = choose_sample([window.document for window in every], given.windows, seed=0)
        windows = [replace(every[place], tokens=()) for place in chosen]
        trained = signal_of_heads(model, windows, settings)
        seeds = [
            signal_of_heads(model.untrained(seed), windows, settings) for seed in range(given.seeds)
        ]
        untrained = {key: np.concatenate([seed[key] for seed in seeds]) for key in trained}
        row = {"model": name, "windows": len(windows), "seeds": given.seeds}
        for relation in RELATIONS:
            key = f"{relation}_snr"
            value = untrained[key]
            low, high = untrained[f"{key}_low"], untrained[f"{key}_high"]
            there = np.isfinite(value) & np.isfinite(low)
            row[key] = {
                "auc": auc(trained[key], value),
                "trained_median": float(np.nanmedian(trained[key])),
                "untrained_median": float(np.nanmedian(value)),
                "covered": float(((low <= 0) & (high >= 0))[there].mean()),
                "not_above_zero": float((low <= 0)[there].mean()),
            }
        row["write_strength"] = {
            "auc": auc(trained["write_strength"], untrained["write_strength"]),
            "trained_median": float(np.nanmedian(trained["write_strength"])),
        }
        row["cpu_s"] = round(time.process_time() - started)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
