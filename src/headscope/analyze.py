"""The main path: a corpus and a model in, a run folder out.

    corpus -> windows -> shards -> results -> report

`analyze` is all of it; read it top to bottom. Windows are written to the run folder first, a file
per shard. Then each shard is measured by itself and written once. So a killed run is resumed by the
same call: shards that are there are not measured again, and there is no other state.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    """The keywords of `analyze` that its signature does not list, in four groups."""


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
    """The finished run that measures every head of a model over a corpus.

    If `out` holds an unfinished run of the same model, corpus and settings, it is resumed; any
    other run there is refused.

    Args:
        model: `demo`, a hub id, a local folder, or a model from `hs.load_model`, which keeps its
            own dtype and device.
        corpus: One or more of `demo`, a file, a folder, `-` for standard input, `hf:NAME`.
        texts: Maximum number of windows (default: all).
        out: The run folder (default: a folder in `runs/`, named after model and corpus).
        nulls: Number of windows that are also measured with the untrained model; 0 for none.
        report: Whether to write report.html.
        progress: Whether to show progress on standard error, or an object that receives it.
        log: A file to which every event is appended as a line of JSON. The run folder has such a
            log in any case.
        **options: What changes a number: `window`, `min_tokens`, `layers`, `similarity`, `pairs`,
            `attention_threshold`, `special_tokens`, `permutations`, `minimal`, `seed`,
            `batch_tokens`, `shard_windows` (defaults: `headscope.settings.Settings`).
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
        reported = stack.enter_context(SeveralProgresses(shown, journal))

        # The model, while compiled code is made in other processes.
        compile_ahead(settings.window_tokens)
        with _stage("loading the model", reported):
            loaded = model if isinstance(model, LoadedModel) else load_model(model, **loading)
        sites = loaded.sites_of(settings.layers)

        # The run folder: a new run, or one that is resumed.
        folder = Path(out) if out is not None else default_folder(loaded.name, request)
        _refuse_foreign_folder(folder)
        stack.enter_context(only_writer(folder))
        manifest = _resumed(loaded, request, settings, folder)
        journal.keep_in(folder)  # only now: a folder with another run is left as it is

        # The windows, cut and written.
        if manifest is None:
            manifest = _new_manifest(loaded, request, settings, folder, plan, reported)
        else:
            _restore_windows(loaded, request, folder, manifest, reported)
        run = RunFolder(folder, manifest)

        # The shards, measured and written; and the nulls, which are runs of their own.
        if is_compiling():
            with _stage("compiling, once on this machine", reported, "compiling"):
                wait_until_compiled()
        measure_shards(run, loaded, sites, plan, reported, loading)
        if nulls:
            measure_untrained(run, loaded, sites, nulls, reported)
        give_back_free_memory()

        # The results, which add up the shards; and the report.
        with _stage("reducing", reported):
            measure_examples(run, loaded, sites)
            reduce_run(run)
        finished = Run(folder, manifest)
        if report:
            with _stage("writing the report", reported):
                finished.report()
        return finished


@contextmanager
def _stage(name: str, progress: Progress, timed_as: str | None = None) -> Iterator[None]:
    """A stage of one step, shown and timed."""
    progress.stage(name, total=1)
    with timed(timed_as or name):
        yield
    progress.advance()


def _resumed(
    model: LoadedModel, request: CorpusRequest, settings: Settings, folder: Path
) -> Manifest | None:
    """The manifest in the folder; None if there is none. Another run's manifest is refused."""
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


def _restore_windows(
    model: LoadedModel,
    request: CorpusRequest,
    folder: Path,
    manifest: Manifest,
    progress: Progress,
) -> None:
    """Cut the windows of a resumed run again if some are missing or damaged."""
    if RunFolder(folder, manifest).windows_are_whole():
        return
    progress.say(f"windows of {folder} are missing or damaged, and are cut again")
    corpus = _cut_windows(model, request, manifest.settings, folder, progress)
    if corpus.window_hashes != manifest.corpus.window_hashes:
        raise RunError(
            f"the windows of {folder} are damaged, and cutting them again gives different ones; "
            "choose another --out"
        )


def _new_manifest(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    plan: WorkPlan,
    progress: Progress,
) -> Manifest:
    """The manifest of a new run, written after its windows."""
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


def default_folder(model_name: str, request: CorpusRequest) -> Path:
    """Where a run goes when no folder is named: runs/demo, runs/MODEL-CORPUS.

    Args:
        model_name: As the user gave it.
        request: Names the corpus.
    """
    names = [Path(model_name).name, *(Path(source).name for source in request.sources)]
    if names == ["demo", "demo"]:
        names = ["demo"]
    return Path("runs") / re.sub(r"[^\w.-]+", "-", "-".join(names)).strip("-.")


def _refuse_foreign_folder(folder: Path) -> None:
    """Accept an empty folder, a run, or the rest of one that has no manifest yet; no other."""
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
