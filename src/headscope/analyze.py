"""The main path: a corpus and a model in, a run folder out.

    corpus -> windows -> shards -> results -> report

`analyze` is all of it; read it top to bottom. Windows are written to the run folder first, a file
per shard. Then each shard is measured by itself and written once. So a killed run is resumed by the
same call: shards that are there are not measured again, and there is no other state.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Unpack

import numpy as np

from headscope.kernels.cpu.compile_ahead import compile_ahead, is_compiling, wait_until_compiled
from headscope.measuring.describe import describe_run
from headscope.measuring.examples import measure_examples
from headscope.measuring.precision import COMPARED_WINDOWS, is_rounded, precision_note
from headscope.measuring.reduce import reduce_run
from headscope.measuring.robustness import measure_sample, sample_of
from headscope.measuring.run_request import RunRequest, run_request
from headscope.measuring.run_windows import (
    cut_run_windows,
    restore_run_windows,
    resumed_manifest,
    stage,
)
from headscope.measuring.untrained import measure_untrained
from headscope.measuring.windows import CorpusRequest
from headscope.measuring.workers.measure_shards import measure_shards
from headscope.measuring.workers.plan import WorkOptions, WorkPlan
from headscope.models.load import LoadOptions, ModelLike, as_loaded
from headscope.models.loaded import LoadedModel
from headscope.run import Run, open_run
from headscope.runs.folder import RunFolder
from headscope.runs.lock import only_writer, removing_what_never_began
from headscope.runs.manifest import Manifest
from headscope.runs.seal import write_seal
from headscope.settings import (
    NULL_SEEDS,
    NULL_WINDOWS,
    SettingOptions,
    Settings,
    refuse_unknown_options,
    take_options,
)
from headscope.system.journal import Journal
from headscope.system.memory import give_back_free_memory
from headscope.system.option_types import whole_number
from headscope.system.progress import Progress, ProgressBars, SeveralProgresses
from headscope.text.in_memory import CorpusLike, corpus_sources
from headscope.text.readers.columns import ColumnOptions, Columns


class AnalyzeOptions(SettingOptions, LoadOptions, WorkOptions, ColumnOptions, total=False):
    """The keywords of `analyze` that its signature does not list, in four groups."""


def analyze(
    model: ModelLike = "demo",
    corpus: CorpusLike = "demo",
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
        model: `demo`, a hub id, a local folder, a transformers model with its `tokenizer`, or a
            model from `hs.load_model`. Model objects keep their own dtype and device.
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`; a list
            of texts; or a table (DataFrame, `datasets.Dataset`) with a `text_column`. Which strings
            in a list are names and which are texts: `headscope.text.in_memory.names_source`.
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
            How the model is loaded: `dtype`, `device`, `allow_pickle`, `trust_remote_code`,
            `tokenizer` (`hs.load_model`).
            Which columns of tables are read: `text_column`, `id_column`, `label_column`.
            Where shards are measured: `on`, `workers`, `threads`, `address`, `gpus_per_worker`,
            `via` (`headscope.measuring.workers.plan.WorkPlan`).
    """
    refuse_unknown_options("analyze", options, AnalyzeOptions)
    settings = Settings.of(**take_options(options, SettingOptions))
    plan = WorkPlan(**take_options(options, WorkOptions))
    loading = take_options(options, LoadOptions)
    texts = None if texts is None else whole_number("texts", texts)
    columns = Columns.of(**take_options(options, ColumnOptions))
    request = run_request(
        model,
        CorpusRequest(corpus_sources(corpus), texts, columns, first),
        settings,
        nulls=nulls,
        null_seeds=null_seeds,
        robustness=robustness,
        signal=signal,
        report=report,
        out=out,
        loading=loading,
    )
    # Whatever is wrong is said before the model is loaded, and before anything is written.
    request.check()
    folder = request.folder
    with removing_what_never_began(folder), ExitStack() as stack:
        journal = Journal(log)
        shown = ProgressBars() if progress is True else progress or Progress()
        reported = stack.enter_context(SeveralProgresses(shown, journal))
        if request.is_finished():
            reported.say(f"{folder} is finished: there is nothing to measure")
            return open_run(folder)
        for remark in request.corpus.remarks():
            reported.say(remark)

        # The model, while compiled code is made in other processes.
        compile_ahead(settings.window_tokens)
        with stage("loading the model", reported):
            loaded = as_loaded(model, **loading)
        sites = loaded.sites_of(settings.layers)

        # The run folder: a new run, or one that is resumed.
        stack.enter_context(only_writer(folder))
        manifest = resumed_manifest(loaded, request.corpus, settings, folder, reported)
        journal.keep_in(folder)  # only now: a folder with another run is left as it is

        # The windows, cut and written.
        if manifest is None:
            manifest = _new_manifest(loaded, request, plan, reported, loading)
        else:
            restore_run_windows(loaded, request.corpus, folder, manifest, reported)
        run = RunFolder(folder, manifest)

        # The shards, measured and written.
        if is_compiling():
            with stage("compiling, once on this machine", reported, "compiling"):
                wait_until_compiled()
        measure_shards(run, loaded, sites, plan, reported, loading)
        # A sample of them again, under every analysis choice, and by untrained models.
        sample = None
        if request.robustness or request.nulls or request.signal:
            sample = sample_of(run, request.robustness)
        if sample is not None and (request.robustness or request.signal):
            choices = request.robustness > 0
            measure_sample(run, loaded, sites, sample, reported, choices, request.signal)
        if sample is not None and request.nulls:
            measure_untrained(
                run,
                loaded,
                sites,
                sample,
                windows=request.nulls,
                seeds=request.null_seeds,
                every_choice=request.robustness > 0,
                signal=request.signal,
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
        if (asked := request.asked()) is not None:
            write_seal(folder, asked)
        return finished


def _new_manifest(
    model: LoadedModel,
    request: RunRequest,
    plan: WorkPlan,
    progress: Progress,
    loading: LoadOptions,
) -> Manifest:
    """The manifest of a new run, written after its windows."""
    settings, folder = request.settings, request.folder
    corpus = cut_run_windows(model, request.corpus, settings, folder, progress)
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
