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
import torch
from numpy.typing import NDArray

from headscope.measures.signal import RELATIONS, signal_columns
from headscope.measuring.batch import batches
from headscope.measuring.labels import label_tokens
from headscope.measuring.sample import choose_sample
from headscope.measuring.signal import BatchSums, SignalCollector
from headscope.models import LoadedModel, load_model
from headscope.models.site import MassCapture
from headscope.settings import Settings
from headscope.text.readers.conllu import read_conllu
from headscope.text.readers.source_file import SourceFile
from headscope.text.windows import Window, iter_windows


def measured(
    model: LoadedModel, windows: list[Window], settings: Settings
) -> dict[str, NDArray[np.float64]]:
    """The columns of all heads of a model, in order of stacks."""
    collector = SignalCollector(model, windows, model.sites, settings, whole=False)
    with collector.reading(), torch.inference_mode():
        for places in batches(windows, max_tokens=settings.batch_tokens):
            labels = label_tokens([windows[place] for place in places], model.device)
            batch = collector.reader(places)

            def on_layer(capture: MassCapture, batch: BatchSums = batch) -> None:
                collector.add(capture.site, capture.head_output, batch)

            model.forward_mass(labels.token_ids, labels.real, on_layer)
            collector.keep(batch)
    stacks = [signal_columns(sums) for sums in collector.sums.values()]
    return {name: np.concatenate([columns[name] for columns in stacks]) for name in stacks[0]}


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
        trained = measured(model, windows, settings)
        seeds = [measured(model.untrained(seed), windows, settings) for seed in range(given.seeds)]
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
