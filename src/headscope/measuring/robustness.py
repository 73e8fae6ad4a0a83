"""The sample of a run, measured under every analysis choice, so that verdicts can be judged by all.

The cost does not grow with the corpus: the sample has a fixed number of windows.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from headscope.measuring.choices import ChoiceCollector
from headscope.measuring.sample import choose_sample
from headscope.measuring.shard import measure_windows
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.runs.choice_files import choices_are_whole, write_choices
from headscope.runs.folder import RunFolder
from headscope.settings import SAMPLE_WINDOWS
from headscope.system.progress import Progress


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


def measure_robustness(
    run: RunFolder,
    model: LoadedModel,
    sites: Sequence[AttentionSite],
    sample: NDArray[np.int64],
    progress: Progress,
) -> None:
    """Measure the sample of a run under every analysis choice, unless that was done.

    Args:
        run: Where the tables are written.
        model: What reads the windows.
        sites: Which attention layers are measured.
        sample: The numbers of the windows.
        progress: Is told of every window.
    """
    done = choices_are_whole(run.path, run.manifest, sample, within=run.within)
    progress.stage("every choice", total=len(sample), done=len(sample) if done else 0)
    if done:
        return
    collector = ChoiceCollector(sample, sites, run.manifest.settings)
    shard = measure_windows(
        model,
        run.read_windows_at(sample),
        # Rows are there already; these are thrown away.
        replace(run.manifest.settings, minimal=True),
        sites=sites,
        on_windows=progress.advance,
        choices=collector,
    )
    left_out = [window.text for window in shard.left_out]
    write_choices(run.path, run.manifest, collector.tables(left_out), within=run.within)
