"""Which heads does a model need, and what foretells it? The tables of docs/causes.md.

    python benchmarks/head_importance.py CORPUS.conllu.gz MODEL [MODEL ...] --windows 16

Every head is switched off in turn (`hs.ablate`). What heads write, gradients, and signal to noise
are measured on windows of other documents, and their ranks correlated with what was lost.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import headscope as hs
from common.signal_of_heads import signal_of_heads
from headscope.intervene.head_scores import gradient_scores
from headscope.measuring.outcome import Outcome
from headscope.measuring.sample import choose_sample
from headscope.models.loaded import LoadedModel
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from headscope.settings import Settings
from headscope.text.readers.conllu import read_conllu
from headscope.text.readers.source_file import SourceFile
from headscope.text.windows import Window, iter_windows

SHOWN = 6
"""Heads of the table that are printed."""
PREDICTORS = ("written_deviation", "write_strength", "gradient", "dependency_snr", "sentence_snr")


def other_windows(model: LoadedModel, corpus: str, seen: set[str], number: int) -> list[Window]:
    """Full windows, a document each, of documents that were not seen."""
    settings = Settings()
    assert model.tokenizer is not None
    documents = read_conllu(SourceFile.at(Path(corpus)))
    every = [
        window
        for window in iter_windows(documents, model.tokenizer)
        if window.n_tokens == settings.window_tokens and window.document not in seen
    ]
    chosen = choose_sample([window.document for window in every], number, seed=0)
    return [replace(every[place], tokens=()) for place in chosen]


def scores_of(model: LoadedModel, windows: Sequence[Window]) -> pd.DataFrame:
    """What could foretell what a head is worth, a row per head."""
    columns = signal_of_heads(model, windows, Settings())
    stacks = dict.fromkeys(site.stack for site in model.sites)
    heads = [
        (site.stack, site.layer, head)
        for stack in stacks
        for site in model.sites
        if site.stack == stack
        for head in range(1, site.heads + 1)
    ]
    table = pd.DataFrame(heads, columns=["stack", "layer", "head"])
    for name in PREDICTORS:
        if name in columns:
            table[name] = columns[name]
    outcome = Outcome(model)
    if outcome.has_loss:
        found = gradient_scores(outcome, windows)
        table["gradient"] = [found[head] for head in heads]
    return table


def rank_correlations(table: pd.DataFrame, effects: Sequence[str]) -> dict[str, dict[str, float]]:
    """Spearman's rank correlation of each score with each effect."""
    return {
        effect: {
            name: round(float(table[name].corr(table[effect], method="spearman")), 3)
            for name in PREDICTORS
            if name in table and table[name].notna().sum() > 2
        }
        for effect in effects
    }


def summary(ablation: hs.Ablation, scores: pd.DataFrame) -> dict[str, Any]:
    """What is printed of one model."""
    effects = list(ablation.reliability)
    first, ranked = effects[0], effects[-1] if "kl" in effects else effects[0]
    table = ablation.table.merge(scores, on=["stack", "layer", "head"], validate="one_to_one")
    top = table.sort_values(ranked, ascending=False).head(SHOWN)
    by_layer = table.groupby(["stack", "layer"])[first].sum()
    order = by_layer.sort_values(ascending=False)
    result: Mapping[str, Any] = ablation.to_json()
    return {
        "model": ablation.model,
        "outcome": ablation.outcome,
        "unit": ablation.unit,
        "windows": ablation.windows,
        "documents": ablation.documents,
        "loss": result["loss_interval"],
        "reliability": {name: round(value, 3) for name, value in ablation.reliability.items()},
        "above_zero": int(table["matters"].sum()),
        "below_zero": int((table[f"{first}_high"] < 0).sum()),
        "of_heads": len(table),
        "median": {name: float(np.median(table[name])) for name in effects},
        "top": json.loads(top.round(5).to_json(orient="records")),
        "layers": {
            f"{place[0]} {place[1]}": round(float(share), 3)  # type: ignore[index]
            for place, share in (order / by_layer.sum()).head(4).items()
        },
        "spearman": rank_correlations(table, effects),
        "spearman_by_stack": {
            str(stack): rank_correlations(part, effects)
            for stack, part in table.groupby("stack")
            if table["stack"].nunique() > 1
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--windows", type=int, default=16, help="Windows without each head.")
    parser.add_argument("--tokens", type=int, default=128, help="In each of these windows.")
    parser.add_argument("--others", type=int, default=24, help="Windows of the scores.")
    parser.add_argument("--out", type=Path, help="Where studies are kept, and resumed.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.models:
            started = time.process_time()
            model = hs.load_model(name, head=True)
            folder = (given.out or Path(scratch)) / f"ablate-{Path(name).name}"
            ablation = hs.ablate(
                model,
                given.corpus,
                texts=given.windows,
                window=given.tokens,
                min_tokens=given.tokens - 4,
                out=folder,
                progress=False,
            )
            run = RunFolder(folder, Manifest.read(folder))
            shards = range(run.manifest.shards)
            seen = {window.document for shard in shards for window in run.read_windows(shard)}
            windows = other_windows(model, given.corpus, seen, given.others)
            found = summary(ablation, scores_of(model, windows))
            found["cpu_s"] = round(time.process_time() - started)
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
