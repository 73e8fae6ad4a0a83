"""The untrained model: the same architecture with random weights, over windows of the same run.

What it shows cannot come from learning. Each seed is a run of its own, kept in the folder of the
run it belongs to: `nulls/untrained-SEED`.
"""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from headscope.errors import RunError
from headscope.measuring.describe import describe_run
from headscope.measuring.reduce import reduce_run
from headscope.measuring.shard import measure_here
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import CorpusRecord, Manifest
from headscope.runs.window_files import write_windows
from headscope.system.progress import Progress
from headscope.text.windows import Window

SEEDS = (0, 1, 2)
"""Of the random weights."""


def measure_untrained(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    windows: int,
    progress: Progress,
) -> None:
    """Measure some windows of a run with random weights of several seeds.

    Args:
        run: Where the nulls are written.
        model: The trained model.
        sites: Which attention layers are measured.
        windows: Number of windows, evenly spread over the run.
        progress: Is told of every window.
    """
    chosen = np.unique(
        np.linspace(0, run.manifest.corpus.windows - 1, windows).round().astype(np.int64)
    )
    missing = [seed for seed in SEEDS if not _is_there(run, seed, len(chosen))]
    progress.stage(
        "untrained model",
        total=len(SEEDS) * len(chosen),
        done=(len(SEEDS) - len(missing)) * len(chosen),
    )
    sample = run.read_windows_at(chosen) if missing else []
    for seed in missing:
        folder = run.null(seed)
        # The rest of an interrupted null, or one over other windows: cheap to measure again.
        shutil.rmtree(folder, ignore_errors=True)
        untrained = model.untrained(seed)
        manifest = describe_run(
            untrained, _write(run, sample, folder), run.manifest.settings, sites
        )
        null = RunFolder(folder, replace(manifest, created=run.manifest.created))
        measure_here(null, untrained, sites, range(null.manifest.shards), progress)
        reduce_run(null)
        # The manifest comes last, so that an interrupted null does not count.
        null.manifest.write(folder)


def _is_there(run: RunFolder, seed: int, windows: int) -> bool:
    folder = run.null(seed)
    try:
        manifest = Manifest.read(folder)
    except RunError:
        return False
    same = manifest.settings == run.manifest.settings and manifest.packages == run.manifest.packages
    null = RunFolder(folder, manifest)
    return (
        same
        and manifest.corpus.windows == windows
        and null.finished
        and null.windows_are_whole()
        and all(null.shards.is_whole(number) for number in range(manifest.shards))
    )


def _write(run: RunFolder, windows: Sequence[Window], folder: Path) -> CorpusRecord:
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
