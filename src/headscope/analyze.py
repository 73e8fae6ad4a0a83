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
from tempfile import TemporaryDirectory
from typing import Unpack

import numpy as np

from headscope.errors import RunError, SettingsError, shortened
from headscope.kernels.cpu.compile_ahead import compile_ahead, is_compiling, wait_until_compiled
from headscope.measuring.describe import describe_run
from headscope.measuring.examples import measure_examples
from headscope.measuring.precision import COMPARED_WINDOWS, is_rounded, precision_note
from headscope.measuring.reduce import reduce_run
from headscope.measuring.robustness import measure_robustness, sample_of
from headscope.measuring.untrained import measure_untrained
from headscope.measuring.windows import CorpusRequest, is_same_corpus, prepare_windows
from headscope.measuring.workers.measure_shards import measure_shards
from headscope.measuring.workers.plan import WorkOptions, WorkPlan
from headscope.models.load import LoadOptions, load_model
from headscope.models.loaded import LoadedModel
from headscope.run import Run
from headscope.runs.corpus_summary import copies_sentence
from headscope.runs.files import is_there
from headscope.runs.folder import RunFolder
from headscope.runs.lock import only_writer
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import CorpusRecord, Manifest, differences
from headscope.runs.own_files import refuse_foreign_folder
from headscope.runs.restored_windows import restore_windows
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
from headscope.system.timing import timed
from headscope.text.readers.columns import ColumnOptions, Columns
from headscope.text.readers.source_file import as_unicode

LONGEST_NAME = 100
"""Of a run folder that is named after its model and corpus, in characters."""


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
        with _stage("loading the model", reported):
            loaded = model if isinstance(model, LoadedModel) else load_model(model, **loading)
        sites = loaded.sites_of(settings.layers)

        # The run folder: a new run, or one that is resumed.
        folder = Path(out) if out is not None else default_folder(loaded.name, request)
        refuse_foreign_folder(folder)
        stack.enter_context(only_writer(folder))
        manifest = _resumed(loaded, request, settings, folder, reported)
        journal.keep_in(folder)  # only now: a folder with another run is left as it is

        # The windows, cut and written.
        if manifest is None:
            manifest = _new_manifest(loaded, request, settings, folder, plan, reported, loading)
        else:
            _restore_windows(loaded, request, folder, manifest, reported)
        run = RunFolder(folder, manifest)

        # The shards, measured and written.
        if is_compiling():
            with _stage("compiling, once on this machine", reported, "compiling"):
                wait_until_compiled()
        measure_shards(run, loaded, sites, plan, reported, loading)
        # A sample of them again, under every analysis choice, and by untrained models.
        sample = sample_of(run, robustness) if robustness or nulls else None
        if sample is not None and robustness:
            measure_robustness(run, loaded, sites, sample, reported)
        if sample is not None and nulls:
            measure_untrained(
                run,
                loaded,
                sites,
                sample,
                windows=nulls,
                seeds=null_seeds,
                every_choice=robustness > 0,
                progress=reported,
            )
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
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> Manifest | None:
    """The manifest in the folder; None if there is none. Another run's manifest is refused."""
    if not is_there(folder / MANIFEST, within=folder):
        return None
    there = Manifest.read(folder)
    asked = describe_run(model, there.corpus, settings, model.sites_of(settings.layers))
    different = differences(there, asked, corpus=False)
    if there.schema != asked.schema:
        different.append(f"schema: {there.schema} / {asked.schema}")
    if request.texts != there.corpus.texts_asked:
        different.append(f"texts: {there.corpus.texts_asked} / {request.texts}")
    elif there.corpus.sample != "all" and request.first != (there.corpus.sample == "first"):
        different.append(f"texts: {there.corpus.sample} / {'first' if request.first else 'random'}")
    if not different:
        with _stage("checking the corpus", progress):
            same_corpus = is_same_corpus(request, there.corpus)
        if not same_corpus:
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
    """Cut the windows of a resumed run again if any of them are to be measured, and compare.

    Their checksums are in the manifest, which came with them: both can have been made elsewhere.
    """
    run = RunFolder(folder, manifest)
    whole = run.windows_are_whole()
    if whole and all(run.shards.is_whole(number) for number in range(manifest.shards)):
        return
    if not whole:
        progress.say(f"windows of {folder} are missing or damaged, and are cut again")
    with TemporaryDirectory(prefix="headscope-") as scratch:
        corpus = _cut_windows(model, request, manifest.settings, Path(scratch), progress)
        if not restore_windows(run, RunFolder(Path(scratch), replace(manifest, corpus=corpus))):
            raise RunError(
                f"the windows of {folder} are not those of {request}: cutting them again gives "
                "different ones; choose another --out"
            )


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
    corpus = _cut_windows(model, request, settings, folder, progress)
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


def _cut_windows(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> CorpusRecord:
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text: analyze measures models of text")
    with timed("cutting windows"):
        corpus = prepare_windows(request, model.tokenizer, settings, folder, progress)
    give_back_free_memory()
    if corpus.duplicates and not settings.keep_duplicates:
        progress.say(copies_sentence(corpus), kind="duplicates")
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
    name = re.sub(r"[^\w.-]+", "-", as_unicode("-".join(names))).strip("-.")
    return Path("runs") / name[:LONGEST_NAME]
