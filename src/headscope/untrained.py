"""The untrained model: the same architecture with random weights, over texts of the same run.

What it shows, no learning explains. Each seed is a run of its own, kept in the folder of the run it
belongs to: `nulls/untrained-SEED`.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from headscope.describe_run import describe_run
from headscope.errors import RunError
from headscope.measure_run import measure_here
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.prepare import read_windows_at, windows_are_whole, write_windows
from headscope.progress import Progress
from headscope.run import Run
from headscope.runs.manifest import CorpusRecord, Manifest
from headscope.text.windows import Window

SEEDS = (0, 1, 2)


def measure_untrained(
    run: Run,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    texts: int,
    bars: Progress,
) -> None:
    """Measure `texts` of the run's texts, evenly spread, with random weights of several seeds."""
    chosen = np.unique(
        np.linspace(0, run.manifest.corpus.windows - 1, texts).round().astype(np.int64)
    )
    missing = [seed for seed in SEEDS if not _is_there(run, seed, len(chosen))]
    bars.stage(
        "untrained model",
        total=len(SEEDS) * len(chosen),
        done=(len(SEEDS) - len(missing)) * len(chosen),
    )
    corpus = run.manifest.corpus
    windows = read_windows_at(run.folder, corpus, chosen) if missing else []
    for seed in missing:
        folder = run.folder / "nulls" / f"untrained-{seed}"
        # Remains of an interrupted null, or of one over other texts: cheap to do again.
        shutil.rmtree(folder, ignore_errors=True)
        untrained = model.untrained(seed)
        manifest = describe_run(
            untrained, _write(run, windows, folder), run.manifest.settings, sites
        )
        null = Run(folder, replace(manifest, created=run.manifest.created))
        measure_here(null, untrained, sites, range(null.manifest.shards), bars)
        null.reduce()
        # The manifest comes last: a null that was cut short does not count.
        null.manifest.write(folder)


def _is_there(run: Run, seed: int, texts: int) -> bool:
    folder = run.folder / "nulls" / f"untrained-{seed}"
    try:
        manifest = Manifest.read(folder)
    except RunError:
        return False
    same = manifest.settings == run.manifest.settings and manifest.packages == run.manifest.packages
    null = Run(folder, manifest)
    return (
        same
        and manifest.corpus.windows == texts
        and null.finished
        and windows_are_whole(folder, manifest.corpus)
        and all(null.shards.is_whole(number) for number in range(manifest.shards))
    )


def _write(run: Run, windows: Sequence[Window], folder: Path) -> CorpusRecord:
    size = run.manifest.settings.shard_windows
    shards = [windows[start : start + size] for start in range(0, len(windows), size)]
    hashes = tuple(write_windows(folder, number, shard) for number, shard in enumerate(shards))
    return replace(
        run.manifest.corpus,
        documents=len({window.document for window in windows}),
        hash=sha256("".join(hashes).encode()).hexdigest(),
        windows=len(windows),
        window_hashes=hashes,
        shard_texts=tuple(len(shard) for shard in shards),
        texts_asked=len(windows),
    )
