"""The main path: a corpus and a model in, a run folder out.

    corpus -> windows -> shards of work -> rows and sums on disk -> results -> report

Read it from the top: `analyze` is the whole of it. A killed run goes on where it stopped when the
same call is made again: shards that are there are not done twice, and nothing else is remembered.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from headscope.compile_ahead import compile_ahead, is_compiling, wait_until_compiled
from headscope.describe_run import describe_run
from headscope.errors import RunError, SettingsError
from headscope.free_memory import give_back_free_memory
from headscope.journal import Journal
from headscope.measure_examples import measure_examples
from headscope.models.load import load_model
from headscope.models.loaded import LoadedModel
from headscope.models.site import AttentionSite
from headscope.prepare import CorpusRequest, corpus_hash, prepare_windows, windows_are_whole
from headscope.progress import Progress, ProgressBars, SeveralProgresses
from headscope.run import Run
from headscope.runs.live import LOG_NAME
from headscope.runs.lock import only_writer
from headscope.runs.manifest import Manifest, differences
from headscope.scale.measure_shards import measure_shards
from headscope.scale.plan import Place, WorkPlan
from headscope.settings import PairRule, Settings, SimilarityVariant
from headscope.stage_times import timed
from headscope.untrained import measure_untrained


def analyze(
    model: str | Path | LoadedModel = "demo",
    corpus: str | Path | Sequence[str | Path] = "demo",
    *,
    texts: int | None = None,
    out: str | Path | None = None,
    window: int = 128,
    min_tokens: int = 16,
    layers: Sequence[int] | None = None,
    similarity: SimilarityVariant = "raw",
    pairs: str = "top:0.01",
    attention_threshold: float = 0.3,
    special_tokens: bool = False,
    text_column: str = "text",
    id_column: str | None = None,
    label_column: str | None = None,
    batch_tokens: int = 1024,
    shard_windows: int = 512,
    permutations: int = 64,
    minimal: bool = False,
    seed: int = 0,
    nulls: int = 200,
    report: bool = True,
    dtype: str = "float32",
    device: str = "cpu",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
    progress: bool | Progress = True,
    on: Place = "local",
    workers: int | None = None,
    threads: int | None = None,
    address: str | None = None,
    gpus_per_worker: float = 0.0,
    via: str | None = None,
    log: str | Path | None = None,
) -> Run:
    """The run that measures every head of a model over a corpus.

    `model` is `demo`, a hub id, a local folder, or what `hs.load_model` gave (it then keeps its own
    dtype and device); `corpus` one or more of `demo`, a file, a folder, `-`, `hf:NAME`. `texts`
    limits the windows; `nulls` of them also go through the model with random weights. `minimal`
    leaves out the sweep, the permutations and the other variants of similarity; `report` False the
    page. An unfinished run of the same model, corpus and settings in `out` is resumed; another run
    there is refused.

    `workers` processes measure side by side, the cores shared out; `on="ray"` has it done by Ray,
    started here or reached at `address` (see docs/scale.md). `log` names a file for a line of JSON
    about everything that happens; the run folder has one in any case.
    """
    plan = WorkPlan(on, workers, threads, address, gpus_per_worker, via)
    settings = Settings(
        window_tokens=window,
        min_tokens=min_tokens,
        similarity=similarity,
        pairs=PairRule.parse(pairs),
        attention_threshold=attention_threshold,
        special_tokens=special_tokens,
        layers=None if layers is None else tuple(layers),
        shard_windows=shard_windows,
        permutations=permutations,
        minimal=minimal,
        seed=seed,
        batch_tokens=batch_tokens,
    )
    if nulls < 0:
        raise SettingsError(f"nulls: {nulls} is negative; 0 leaves the untrained model out")
    if texts is not None and texts < 1:
        raise SettingsError(f"texts: {texts} is too few; ask for at least 1")
    sources = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    request = CorpusRequest(
        tuple(str(source) for source in sources), texts, text_column, id_column, label_column
    )
    with ExitStack() as stack:
        journal = Journal(log)
        bars = SeveralProgresses(
            ProgressBars() if progress is True else progress or Progress(), journal
        )
        stack.enter_context(bars)
        bars.stage("loading the model", total=1)
        compile_ahead(window)
        with timed("loading the model"):
            loaded = (
                model
                if isinstance(model, LoadedModel)
                else load_model(
                    model,
                    dtype=dtype,
                    device=device,
                    allow_pickle=allow_pickle,
                    trust_remote_code=trust_remote_code,
                )
            )
        bars.advance()
        folder = Path(out) if out is not None else default_folder(loaded.name, request)
        _refuse_foreign_folder(folder)
        stack.enter_context(only_writer(folder))
        there = _resumed(loaded, request, settings, folder)
        # Not before: a folder with another run is left as it is.
        journal.keep_in(folder)
        trust = {"allow_pickle": allow_pickle, "trust_remote_code": trust_remote_code}
        run = _analyze(loaded, request, settings, nulls, folder, there, plan, trust, bars)
        if report:
            bars.stage("writing the report", total=1)
            with timed("writing the report"):
                run.report()
            bars.advance()
        return run


def _analyze(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    nulls: int,
    folder: Path,
    there: Manifest | None,
    plan: WorkPlan,
    trust: Mapping[str, bool],
    bars: Progress,
) -> Run:
    sites = model.sites_of(settings.layers)
    manifest = _manifest(model, request, settings, sites, folder, there, plan, bars)
    run = Run(folder, manifest)
    if is_compiling():
        bars.stage("compiling, once on this machine", total=1)
        with timed("compiling"):
            wait_until_compiled()
        bars.advance()
    measure_shards(run, model, sites, plan, bars, **trust)
    if nulls:
        measure_untrained(run, model, sites, nulls, bars)
    give_back_free_memory()
    bars.stage("reducing", total=1)
    with timed("reducing"):
        measure_examples(run, model, sites)
        run.reduce()
    bars.advance()
    return run


def _manifest(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    sites: Sequence[AttentionSite],
    folder: Path,
    there: Manifest | None,
    plan: WorkPlan,
    bars: Progress,
) -> Manifest:
    """The manifest that is there, with its windows made whole; otherwise a new one."""
    if model.tokenizer is None:
        raise SettingsError(f"{model.name} reads no text: analyze measures models of text")
    if there is not None:
        if windows_are_whole(folder, there.corpus):
            return there
        bars.say(f"texts of {folder} are missing or damaged and cut again")
    bars.stage("cutting windows", total=request.texts)
    with timed("cutting windows"):
        corpus = prepare_windows(request, model.tokenizer, settings, folder, bars.advance)
    give_back_free_memory()
    if there is not None:
        if corpus.window_hashes != there.corpus.window_hashes:
            raise RunError(
                f"the texts of {folder} are damaged, and cutting them again gives others; choose "
                "another --out"
            )
        return there
    threads = plan.threads_for(len(corpus.shard_texts))
    manifest = replace(describe_run(model, corpus, settings, sites), threads=threads)
    manifest.write(folder)
    return manifest


def _resumed(
    model: LoadedModel, request: CorpusRequest, settings: Settings, folder: Path
) -> Manifest | None:
    """The manifest in the folder, if it is of this very run; None without one."""
    if not (folder / "manifest.json").exists():
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
    if not folder.exists() or (folder / "manifest.json").exists():
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
