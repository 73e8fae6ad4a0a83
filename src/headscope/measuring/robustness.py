"""The sample of a run, under every analysis choice, with its signal and noise.

The cost does not grow with the corpus: the sample has a fixed number of windows.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.sample import choose_sample
from headscope.measuring.shard import measure_windows
from headscope.measuring.signal import EVERY, SignalCollector
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.choice_files import choices_are_whole, write_choices
from headscope.runs.folder import RunFolder
from headscope.runs.signal_files import signal_is_whole, write_signal
from headscope.settings import SAMPLE_WINDOWS
from headscope.system.progress import Progress

FEWEST_WINDOWS = 20
"""Of the sample, where nothing but signal and noise is measured on it."""


def sample_of(run: RunFolder, windows: int) -> NDArray[np.int64]:
    """The numbers of the windows in the sample of a run; those that were left out are not in it.

    Args:
        run: All its windows are cut and measured.
        windows: Number of windows; 0 for the default number.
    """
    documents = run.windows().to_table(columns=["document"])["document"].to_pylist()
    left_out = {window.text for window in run.left_out}
    measured = np.array([n for n in range(len(documents)) if n not in left_out], dtype=np.int64)
    places = choose_sample(
        [documents[number] for number in measured],
        windows or SAMPLE_WINDOWS,
        run.manifest.settings.seed,
    )
    return measured[places]


def measure_sample(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    sample: NDArray[np.int64],
    progress: Progress,
    every_choice: bool,
    signal: bool,
) -> None:
    """Measure the sample of a run under every analysis choice, and its signal and noise.

    What was done before is not done again.

    Args:
        run: Where the tables are written.
        model: What reads the windows.
        sites: Which attention layers are measured.
        sample: The numbers of the windows.
        progress: Is told of every window.
        every_choice: Whether verdicts are to be judged under every choice.
        signal: Whether signal and noise are measured.
    """
    if not len(sample):
        return  # every window was left out
    if not every_choice:
        sample = _few(sample, run.manifest.corpus.windows)
    path, manifest, within = run.path, run.manifest, run.within
    choices_due = every_choice and not choices_are_whole(path, manifest, sample, within=within)
    heard = sample[::EVERY]
    signal_due = signal and not signal_is_whole(path, manifest, heard, within=within)
    due = choices_due or signal_due
    name = "every choice" if every_choice else "signal and noise"
    progress.stage(name, total=len(sample), done=0 if due else len(sample))
    if not due:
        return
    windows = run.read_windows_at(sample)
    collector = ChoiceCollector(sample, sites, manifest.settings) if choices_due else None
    signals = None
    if signal_due:
        signals = SignalCollector(model, windows, sites, manifest.settings, every=EVERY)
    shard = measure_windows(
        model,
        windows,
        # Rows are there already; these are thrown away.
        replace(run.manifest.settings, minimal=True),
        sites=sites,
        on_windows=progress.advance,
        choices=collector,
        signal=signals,
    )
    left_out = [window.text for window in shard.left_out]
    if collector is not None:
        write_choices(path, manifest, collector.tables(left_out), within=within)
    if signals is not None:
        write_signal(path, manifest, signals.finish(sample), within=within)


def _few(sample: NDArray[np.int64], windows: int) -> NDArray[np.int64]:
    """As many windows of a sample as cost little beside the run: a twentieth, at least 20."""
    number = min(len(sample), max(FEWEST_WINDOWS, windows // 20))
    return sample[np.unique(np.linspace(0, len(sample) - 1, number).round().astype(np.int64))]
