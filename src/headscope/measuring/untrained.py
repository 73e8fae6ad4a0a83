"""The untrained model: the same architecture with random weights, over windows of the same run.

What it shows cannot come from learning. Each seed is a run of its own, kept in the folder of the
run it belongs to: `nulls/untrained-SEED`. Seeds read different windows of the run's sample, so that
many seeds cost no more than few. Of an untrained model only what verdicts read is kept: rows and
their totals, no summed matrices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.measures.columns import ARRAYS
from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.describe import describe_run
from headscope.measuring.reduce import reduce_run
from headscope.measuring.sample import share_of_seed
from headscope.measuring.shard import measure_windows
from headscope.measuring.signal import EVERY, SignalCollector
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.choice_files import choices_are_whole, write_choices
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import CorpusRecord, Manifest
from headscope.runs.own_files import remove_run_folder
from headscope.runs.signal_files import signal_is_whole, write_signal
from headscope.runs.window_files import write_windows
from headscope.settings import Settings
from headscope.system.progress import Progress
from headscope.text.windows import Window


def measure_untrained(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    sample: NDArray[np.int64],
    *,
    windows: int,
    seeds: int,
    every_choice: bool,
    signal: bool,
    progress: Progress,
) -> None:
    """Measure windows of a run with random weights of several seeds.

    Args:
        run: Where the nulls are written.
        model: The trained model.
        sites: Which attention layers are measured.
        sample: The windows that seeds read, each its own share.
        windows: Number of windows of each seed.
        seeds: Number of seeds.
        every_choice: Whether they are also measured under every analysis choice.
        signal: Whether their signal and noise are measured too.
        progress: Is told of every window.
    """
    shares = [share_of_seed(sample, windows, seed) for seed in range(seeds)]
    settings = null_settings(run.manifest.settings)
    missing = [
        seed
        for seed, share in enumerate(shares)
        if not _is_there(run, seed, len(share), settings, every_choice)
        or (signal and not _has_signal(run, seed, len(share)))
    ]
    total = sum(map(len, shares))
    progress.stage(
        "untrained models",
        total=total,
        done=total - sum(len(shares[seed]) for seed in missing),
    )
    for seed in missing:
        folder = run.null(seed)
        # The rest of an interrupted null, or one over other windows: cheap to measure again.
        remove_run_folder(folder, within=run.within)
        untrained = model.untrained(seed)
        share = run.read_windows_at(shares[seed])
        manifest = describe_run(untrained, _write(run, share, folder), settings, sites)
        null = RunFolder(folder, replace(manifest, created=run.manifest.created), run.within)
        collector = None
        if every_choice:
            collector = ChoiceCollector(np.arange(len(share)), sites, settings)
        signals = None
        if signal:
            signals = SignalCollector(untrained, share, sites, settings, whole=False, every=EVERY)
        shard = measure_windows(
            untrained,
            share,
            settings,
            sites=sites,
            on_windows=progress.advance,
            choices=collector,
            signal=signals,
        )
        null.shards.write(0, replace(shard, arrays=_without_matrices(shard.arrays)))
        if collector is not None:
            left_out = [window.text for window in shard.left_out]
            write_choices(folder, null.manifest, collector.tables(left_out), within=run.within)
        if signals is not None:
            sums = signals.finish(np.arange(len(share)))
            write_signal(folder, null.manifest, sums, within=run.within)
        reduce_run(null)
        # The manifest comes last, so that an interrupted null does not count.
        null.manifest.write(folder, within=run.within)


def null_settings(settings: Settings) -> Settings:
    """The settings of an untrained model's run: those of the run, without permuted labels.

    Args:
        settings: Of the run.
    """
    return replace(settings, permutations=0)


def _without_matrices(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The sums that are small: no matrices of positions, no sweep."""
    return {
        key: values
        for key, values in arrays.items()
        if (dims := ARRAYS.get(key.partition("/")[2])) is not None
        and not {"position", "offset", "distance"} & set(dims)
    }


def _is_there(
    run: RunFolder, seed: int, windows: int, settings: Settings, every_choice: bool
) -> bool:
    folder = run.null(seed)
    try:
        manifest = Manifest.read(folder, within=run.within)
    except RunError:
        return False
    null = RunFolder(folder, manifest, run.within)
    return (
        manifest.settings == settings
        and manifest.packages == run.manifest.packages
        and manifest.corpus.windows == windows
        and null.finished
        and null.windows_are_whole()
        and all(null.shards.is_whole(number) for number in range(manifest.shards))
        and (
            not every_choice
            or choices_are_whole(folder, manifest, range(windows), within=run.within)
        )
    )


def _has_signal(run: RunFolder, seed: int, windows: int) -> bool:
    try:
        manifest = Manifest.read(run.null(seed), within=run.within)
    except RunError:
        return False
    return signal_is_whole(run.null(seed), manifest, range(0, windows, EVERY), within=run.within)


def _write(run: RunFolder, windows: Sequence[Window], folder: Path) -> CorpusRecord:
    hashes = (write_windows(folder, 0, windows, within=run.within),)
    return replace(
        run.manifest.corpus,
        documents=len({window.document for window in windows}),
        hash=sha256("".join(hashes).encode()).hexdigest(),
        windows=len(windows),
        window_hashes=hashes,
        shard_texts=(len(windows),),
        texts_asked=len(windows),
        sample=None,
        windows_available=run.manifest.corpus.windows,
        documents_sampled=None,
        duplicates=None,
        duplicates_sampled=None,
    )
