"""The main path: a corpus and a model in, a run folder out.

    corpus -> windows -> shards -> results -> report

`analyze` is all of it; read it top to bottom. Windows are written to the run folder first, a file
per shard. Then each shard is measured by itself and written once. So a killed run is resumed by the
same call: shards that are there are not measured again, and there is no other state.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from headscope.errors import SettingsError, shortened
from headscope.kernels.cpu.compile_ahead import compile_ahead, is_compiling, wait_until_compiled
from headscope.measuring.describe import describe_run
from headscope.measuring.examples import measure_examples
from headscope.measuring.precision import COMPARED_WINDOWS, is_rounded, precision_note
from headscope.measuring.reduce import reduce_run
from headscope.measuring.robustness import measure_sample, sample_of
from headscope.measuring.run_windows import (
    cut_run_windows,
    default_folder,
    restore_run_windows,
    resumed_manifest,
    stage,
)
from headscope.measuring.untrained import measure_untrained
from headscope.measuring.windows import CorpusRequest
from headscope.measuring.workers.measure_shards import measure_shards
from headscope.measuring.workers.plan import WorkOptions, WorkPlan
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.run import Run
from headscope.runs.folder import RunFolder
from headscope.runs.lock import only_writer
from headscope.runs.manifest import Manifest
from headscope.runs.own_files import refuse_foreign_folder
from headscope.settings import (
    MAX_NUMBER,
    NULL_SEEDS,
    NULL_WINDOWS,
    SAMPLE_WINDOWS,
    SettingOptions,
    Settings,
    refuse_unknown_options,
    take_options,
)
from headscope.system.journal import Journal
from headscope.system.memory import give_back_free_memory
from headscope.system.progress import Progress, ProgressBars, SeveralProgresses
from headscope.text.readers.columns import ColumnOptions, Columns


class AnalyzeOptions(SettingOptions, LoadOptions, WorkOptions, ColumnOptions, total=False):
    """The keywords of `analyze` that its signature does not list, in four groups."""


def analyze(
    model: str | Path | LoadedModel = "demo",
    corpus: str | Path | Sequence[str | Path] = "demo",
    *,
    texts: int | None = None,
    first: bool = False,
    out: str | Path | None = None,
    nulls: int = NULL_WINDOWS,
    null_seeds: int = NULL_SEEDS,
    robustness: int | None = None,
    signal: bool | None = None,
    report: bool = True,
    progress: bool | Progress = True,
    log: str | Path | None = None,
    **options: Unpack[AnalyzeOptions],
) -> Run:
    """The finished run that measures every head of a model over a corpus.

    If `out` holds an unfinished run of the same model, corpus and settings, it is resumed; any
    other run there is refused.

    Args:
        model: `demo`, a hub id, a local folder, or a model from `hs.load_model`, which keeps its
            own dtype and device.
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`.
        texts: Maximum number of windows (default: all). They are drawn at random over the whole
            corpus, by `seed` (see `headscope.text.sampling`).
        first: Whether to take the first `texts` windows instead, and to read no further.
        out: The run folder (default: a folder in `runs/`, named after model and corpus).
        nulls: Number of windows that each untrained model reads; 0 for no untrained models.
        null_seeds: Number of untrained models: random weights of as many seeds.
        robustness: Number of windows that are measured under every analysis choice, so that
            verdicts can be judged under all of them; 0 for none (default: 200, and none in a run
            without untrained models or a minimal one).
        signal: Whether signal and noise are measured, on the same windows (unless minimal).
        report: Whether to write report.html.
        progress: Whether to show progress on standard error, or an object that receives it.
        log: A file to which every event is appended as a line of JSON. The run folder has such a
            log in any case.
        **options: What changes a number: `window`, `min_tokens`, `layers`, `similarity`, `pairs`,
            `attention_threshold`, `special_tokens`, `column_mass`, `permutations`, `minimal`,
            `seed`, `keep_duplicates`, `batch_tokens`, `shard_windows` (defaults:
            `headscope.settings.Settings`).
            How the model is loaded: `dtype`, `device`, `allow_pickle`, `trust_remote_code`
            (`hs.load_model`).
            Which columns of tables are read: `text_column`, `id_column`, `label_column`.
            Where shards are measured: `on`, `workers`, `threads`, `address`, `gpus_per_worker`,
            `via` (`headscope.measuring.workers.plan.WorkPlan`).
    """
    refuse_unknown_options("analyze", options, AnalyzeOptions)
    settings = Settings.of(**take_options(options, SettingOptions))
    plan = WorkPlan(**take_options(options, WorkOptions))
    loading = take_options(options, LoadOptions)
    if nulls < 0:
        raise SettingsError(f"nulls: {nulls} is negative; 0 leaves the untrained models out")
    if nulls and null_seeds < 2:
        raise SettingsError(f"null seeds: {null_seeds} is too few; seeds vary: ask for 2 or more")
    signal = not settings.minimal if signal is None else signal
    if robustness is None:
        robustness = SAMPLE_WINDOWS if nulls and not settings.minimal else 0
    elif robustness < 0:
        raise SettingsError(f"robustness: {robustness} is negative; 0 leaves it out")
    for name, number in (("nulls", nulls), ("texts", texts or 0), ("robustness", robustness)):
        if number > MAX_NUMBER:
            raise SettingsError(f"{name}: {shortened(number, 40)} is too large; leave it out")
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    sources = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    request = CorpusRequest(
        tuple(str(source) for source in sources),
        texts,
        Columns.of(**take_options(options, ColumnOptions)),
        first,
    )
    with ExitStack() as stack:
        journal = Journal(log)
        shown = ProgressBars() if progress is True else progress or Progress()
        reported = stack.enter_context(SeveralProgresses(shown, journal))

        # The model, while compiled code is made in other processes.
        compile_ahead(settings.window_tokens)
        with stage("loading the model", reported):
            loaded = model if isinstance(model, LoadedModel) else load_model(model, **loading)
        sites = loaded.sites_of(settings.layers)

        # The run folder: a new run, or one that is resumed.
        folder = Path(out) if out is not None else default_folder(loaded.name, request)
        refuse_foreign_folder(folder)
        stack.enter_context(only_writer(folder))
        manifest = resumed_manifest(loaded, request, settings, folder, reported)
        journal.keep_in(folder)  # only now: a folder with another run is left as it is

        # The windows, cut and written.
        if manifest is None:
            manifest = _new_manifest(loaded, request, settings, folder, plan, reported, loading)
        else:
            restore_run_windows(loaded, request, folder, manifest, reported)
        run = RunFolder(folder, manifest)

        # The shards, measured and written.
        if is_compiling():
            with stage("compiling, once on this machine", reported, "compiling"):
                wait_until_compiled()
        measure_shards(run, loaded, sites, plan, reported, loading)
        # A sample of them again, under every analysis choice, and by untrained models.
        sample = sample_of(run, robustness) if robustness or nulls or signal else None
        if sample is not None and (robustness or signal):
            measure_sample(run, loaded, sites, sample, reported, robustness > 0, signal)
        if sample is not None and nulls:
            measure_untrained(
                run,
                loaded,
                sites,
                sample,
                windows=nulls,
                seeds=null_seeds,
                every_choice=robustness > 0,
                signal=signal,
                progress=reported,
            )
        give_back_free_memory()

        # The results, which add up the shards; and the report.
        with stage("reducing", reported):
            measure_examples(run, loaded, sites)
            reduce_run(run)
        finished = Run(folder, manifest)
        if report:
            with stage("writing the report", reported):
                finished.report()
        return finished


def _new_manifest(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    plan: WorkPlan,
    progress: Progress,
    loading: LoadOptions,
) -> Manifest:
    """The manifest of a new run, written after its windows."""
    corpus = cut_run_windows(model, request, settings, folder, progress)
    sites = model.sites_of(settings.layers)
    threads = plan.threads_for(len(corpus.shard_texts))
    manifest = replace(describe_run(model, corpus, settings, sites), threads=threads)
    if is_rounded(model):
        some = np.linspace(0, corpus.windows - 1, COMPARED_WINDOWS).round().astype(np.int64)
        windows = RunFolder(folder, manifest).read_windows_at(np.unique(some))
        note = precision_note(model, windows, settings, sites, loading)
        progress.say(note)
        flags = (*manifest.model.flags, note)
        manifest = replace(manifest, model=replace(manifest.model, flags=flags))
    manifest.write(folder)
    return manifest
