"""The folder of a run or a study: a new one, or one that is resumed, with its windows.

What both have in common before anything is measured: another run there is refused, windows are cut
and written, or cut again and compared.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from headscope.errors import RunError, option
from headscope.measuring.describe import describe_run
from headscope.measuring.run_request import default_folder as default_folder
from headscope.measuring.windows import CorpusRequest, is_same_corpus, prepare_windows
from headscope.models.given import tokenizer_of
from headscope.models.loaded import LoadedModel
from headscope.runs.corpus_summary import copies_sentence
from headscope.runs.files import is_there
from headscope.runs.folder import RunFolder
from headscope.runs.gate_records import StudyRecord
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import CorpusRecord, Manifest, differences
from headscope.runs.restored_windows import restore_windows
from headscope.settings import Settings
from headscope.system.memory import give_back_free_memory
from headscope.system.progress import Progress
from headscope.system.timing import timed


@contextmanager
def stage(name: str, progress: Progress, timed_as: str | None = None) -> Iterator[None]:
    """A stage of one step, shown and timed.

    Args:
        name: What people read.
        progress: Is told.
        timed_as: Its name among the times of `--profile`, if another one.
    """
    progress.stage(name, total=1)
    with timed(timed_as or name):
        yield
    progress.advance()


def resumed_manifest(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    progress: Progress,
    study: StudyRecord | None = None,
) -> Manifest | None:
    """The manifest in the folder; None if there is none. Another run's manifest is refused.

    Args:
        model: What reads the windows.
        request: Which windows are asked for.
        settings: What is measured.
        folder: The folder of the run.
        progress: Is told while the corpus is compared.
        study: What is measured, in a study.
    """
    if not is_there(folder / MANIFEST, within=folder):
        return None
    there = Manifest.read(folder)
    asked = describe_run(model, there.corpus, settings, model.sites_of(settings.layers), study)
    different = differences(there, asked, corpus=False)
    if there.schema != asked.schema:
        different.append(f"schema: {there.schema} / {asked.schema}")
    if request.texts != there.corpus.texts_asked:
        different.append(f"texts: {there.corpus.texts_asked} / {request.texts}")
    elif there.corpus.sample != "all" and request.first != (there.corpus.sample == "first"):
        different.append(f"texts: {there.corpus.sample} / {'first' if request.first else 'random'}")
    if not different:
        with stage("checking the corpus", progress):
            same_corpus = is_same_corpus(request, there.corpus)
        if not same_corpus:
            different.append(f"corpus: {', '.join(there.corpus.sources)} / {request}")
    if different:
        raise RunError(
            f"{folder} holds another run ({'; '.join(different)}); "
            f"choose another {option('out')}, or delete that folder"
        )
    return there


def restore_run_windows(
    model: LoadedModel,
    request: CorpusRequest,
    folder: Path,
    manifest: Manifest,
    progress: Progress,
) -> None:
    """Cut the windows of a resumed run again if any of them are to be measured, and compare.

    Their checksums are in the manifest, which came with them: both can have been made elsewhere.

    Args:
        model: Whose tokenizer cuts.
        request: Which windows are asked for.
        folder: The folder of the run.
        manifest: What is there.
        progress: Is told.
    """
    run = RunFolder(folder, manifest)
    whole = run.windows_are_whole()
    if whole and all(run.shards.is_whole(number) for number in range(manifest.shards)):
        return
    if not whole:
        progress.say(f"windows of {folder} are missing or damaged, and are cut again")
    with TemporaryDirectory(prefix="headscope-") as scratch:
        corpus = cut_run_windows(model, request, manifest.settings, Path(scratch), progress)
        if not restore_windows(run, RunFolder(Path(scratch), replace(manifest, corpus=corpus))):
            raise RunError(
                f"the windows of {folder} are not those of {request}: cutting them again gives "
                f"different ones; choose another {option('out')}"
            )


def cut_run_windows(
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    progress: Progress,
) -> CorpusRecord:
    """Cut the windows of a corpus and write them to a folder; returns what the corpus is.

    Args:
        model: Whose tokenizer cuts.
        request: Which windows are asked for.
        settings: How long windows are, and how many make a shard.
        folder: Where they are written.
        progress: Is told.
    """
    with timed("cutting windows"):
        corpus = prepare_windows(request, tokenizer_of(model), settings, folder, progress)
    give_back_free_memory()
    if request.texts is not None and corpus.windows < request.texts:
        progress.say(
            f"the corpus has {corpus.windows:,} windows, fewer than the {request.texts:,} asked for"
        )
    if corpus.duplicates and not settings.keep_duplicates:
        progress.say(copies_sentence(corpus), kind="duplicates")
    return corpus
