"""The main path: a corpus and a model in, a run folder out.

    corpus -> windows -> shards of work -> rows and sums on disk -> results -> report

Read it from the top: `analyze` is the whole of it. A killed run is resumed when the same call is
made again: shards that are there are not measured twice, and nothing else is remembered.
"""

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from headscope.errors import RunError, SettingsError
from headscope.kernels.cpu.compile_ahead import compile_ahead, is_compiling, wait_until_compiled
from headscope.measuring.describe import describe_run
from headscope.measuring.examples import measure_examples
from headscope.measuring.reduce import reduce_run
from headscope.measuring.untrained import measure_untrained
from headscope.measuring.windows import CorpusRequest, corpus_hash, prepare_windows
from headscope.measuring.workers.measure_shards import measure_shards
from headscope.measuring.workers.plan import WorkOptions, WorkPlan
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.run import Run
from headscope.runs.folder import RunFolder
from headscope.runs.lock import only_writer
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import CorpusRecord, Manifest, differences
from headscope.settings import (
    NULL_WINDOWS,
    SettingOptions,
    Settings,
    refuse_unknown_options,
    take_options,
)
from headscope.system.journal import LOG_NAME, Journal
from headscope.system.memory import give_back_free_memory
from headscope.system.progress import Progress, ProgressBars, SeveralProgresses
from headscope.system.timing import timed
from headscope.text.readers.columns import ColumnOptions, Columns


class AnalyzeOptions(SettingOptions, LoadOptions, WorkOptions, ColumnOptions, total=False):
    """The keywords of `analyze` beyond those of its signature, in four groups."""


def analyze(
    model: str | Path | LoadedModel = "demo",
    corpus: str | Path | Sequence[str | Path] = "demo",
    *,
    texts: int | None = None,
    out: str | Path | None = None,
    nulls: int = NULL_WINDOWS,
    report: bool = True,
    progress: bool | Progress = True,
    log: str | Path | None = None,
    **options: Unpack[AnalyzeOptions],
) -> Run:
    """The run that measures every head of a model over a corpus.

    An unfinished run of the same model, corpus and settings in `out` is resumed; another run there
    is refused.

    Args:
        model: `demo`, a hub id, a local folder, or what `hs.load_model` gave (it then keeps its own
            dtype and device).
        corpus: One or more of `demo`, a file, a folder, `-`, `hf:NAME`.
        texts: Maximum number of windows; all of the corpus, if None.
        out: The run folder; a folder below `runs/`, if None.
        nulls: Number of windows that also go through the model with random weights; 0 for none.
        report: Whether to write report.html.
        progress: Whether to show progress on standard error, or what to tell of it.
        log: A file to which a line of JSON is appended for everything that happens; the run folder
            has such a log in any case.
        **options: What changes a number: `window`, `min_tokens`, `layers`, `similarity`, `pairs`,
            `attention_threshold`, `special_tokens`, `permutations`, `minimal`, `seed`,
            `batch_tokens`, `shard_windows`, with the defaults of `headscope.settings.Settings`.
            How the model is loaded: `dtype`, `device`, `allow_pickle`, `trust_remote_code`.
            Which columns of tables are read: `text_column`, `id_column`, `label_column`.
            Who measures: `on`, `workers`, `threads`, `address`, `gpus_per_worker`, `via`
            (`headscope.measuring.workers.plan.WorkPlan`, docs/scale.md).
    """
    refuse_unknown_options("analyze", options, AnalyzeOptions)
    settings = Settings.of(**take_options(options, SettingOptions))
    plan = WorkPlan(**take_options(options, WorkOptions))
    loading = take_options(options, LoadOptions)
    if nulls < 0:
        raise SettingsError(f"nulls: {nulls} is negative; 0 leaves the untrained model out")
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    sources = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    request = CorpusRequest(
        tuple(str(source) for source in sources),
        texts,
        Columns.of(**take_options(options, ColumnOptions)),
    )
    with ExitStack() as stack:
        journal = Journal(log)
        shown = ProgressBars() if progress is True else progress or Progress()
        told = stack.enter_context(SeveralProgresses(shown, journal))
        told.stage("loading the model", total=1)
        compile_ahead(settings.window_tokens)
        with timed("loading the model"):
            loaded = model if isinstance(model, LoadedModel) else load_model(model, **loading)
        told.advance()
        folder = Path(out) if out is not None else default_folder(loaded.name, request)
        _refuse_foreign_folder(folder)
        stack.enter_context(only_writer(folder))
        there = _resumed(loaded, request, settings, folder)
        # Not before: a folder with another run is left as it is.
        journal.keep_in(folder)
        sites = loaded.sites_of(settings.layers)
        manifest = there and _with_whole_windows(loaded, request, folder, there, told)
        manifest = manifest or _new_manifest(loaded, request, settings, folder, plan, told)
        run = RunFolder(folder, manifest)
        _wait_for_compiler(told)
        measure_shards(run, loaded, sites, plan, told, loading)
        if nulls:
            measure_untrained(run, loaded, sites, nulls, told)
        give_back_free_memory()
        told.stage("reducing", total=1)
        with timed("reducing"):
            measure_examples(run, loaded, sites)
            reduce_run(run)
        told.advance()
        finished = Run(folder, manifest)
        if report:
            told.stage("writing the report", total=1)
            with timed("writing the report"):
                finished.report()
            told.advance()
        return finished


def _wait_for_compiler(progress: Progress) -> None:
    if is_compiling():
        progress.stage("compiling, once on this machine", total=1)
        with timed("compiling"):
            wait_until_compiled()
        progress.advance()


def _with_whole_windows(
    model: LoadedModel,
    request: CorpusRequest,
    folder: Path,
    there: Manifest,
    progress: Progress,
) -> Manifest:
    """The manifest of a run that is resumed; missing or damaged windows are cut again."""
    if RunFolder(folder, there).windows_are_whole():
        return there
    progress.say(f"windows of {folder} are missing or damaged and cut again")
    corpus = _cut_windows(model, request, there.settings, folder, progress)
    if corpus.window_hashes != there.corpus.window_hashes:
        raise RunError(
            f"the windows of {folder} are damaged, and cutting them again gives others; choose "
            "another --out"
        )
    return there


def _new_manifest(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    plan: WorkPlan,
    progress: Progress,
) -> Manifest:
    """The manifest of a new run, written once its windows are."""
    corpus = _cut_windows(model, request, settings, folder, progress)
    sites = model.sites_of(settings.layers)
    threads = plan.threads_for(len(corpus.shard_texts))
    manifest = replace(describe_run(model, corpus, settings, sites), threads=threads)
    manifest.write(folder)
    return manifest


def _cut_windows(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> CorpusRecord:
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text: analyze measures models of text")
    progress.stage("cutting windows", total=request.texts)
    with timed("cutting windows"):
        corpus = prepare_windows(request, model.tokenizer, settings, folder, progress.advance)
    give_back_free_memory()
    return corpus


def _resumed(
    model: LoadedModel, request: CorpusRequest, settings: Settings, folder: Path
) -> Manifest | None:
    """The manifest in the folder, if it is of this very run; None without one."""
    if not (folder / MANIFEST).exists():
        return None
    there = Manifest.read(folder)
    asked = describe_run(model, there.corpus, settings, model.sites_of(settings.layers))
    different = differences(there, asked, corpus=False)
    if there.schema != asked.schema:
        different.append(f"schema: {there.schema} / {asked.schema}")
    if request.texts != there.corpus.texts_asked:
        different.append(f"texts: {there.corpus.texts_asked} / {request.texts}")
    if not different and corpus_hash(request, there.corpus.documents) != there.corpus.hash:
        different.append(f"corpus: {', '.join(there.corpus.sources)} / {request}")
    if different:
        raise RunError(
            f"{folder} holds another run ({'; '.join(different)}); "
            "choose another --out, or delete that folder"
        )
    return there


def default_folder(model_name: str, request: CorpusRequest) -> Path:
    """Where a run goes when no folder is named: runs/demo, runs/MODEL-CORPUS."""
    names = [Path(model_name).name, *(Path(source).name for source in request.sources)]
    if names == ["demo", "demo"]:
        names = ["demo"]
    return Path("runs") / re.sub(r"[^\w.-]+", "-", "-".join(names)).strip("-.")


def _refuse_foreign_folder(folder: Path) -> None:
    """Only an empty folder, a run, or the remains of a run that never got its manifest will do."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; choose a folder with --out")
    if not folder.exists() or (folder / MANIFEST).exists():
        return
    foreign = sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in ("windows", ".lock", LOG_NAME) and not entry.name.endswith(".part")
    )
    if foreign:
        raise RunError(
            f"{folder} is not a run and not empty (it holds {', '.join(foreign[:3])}); "
            "choose another --out"
        )
