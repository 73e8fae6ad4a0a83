"""Studies in the folder of a run: one of the same model belongs to the run.

A study of `headscope reach` in `RUN/reach`, or of `headscope lens` in `RUN/lens`, is read with the
run, without the model: tables of the run and its report have what it found.
"""

from headscope.errors import RunError
from headscope.runs.files import is_there
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import Manifest
from headscope.runs.records import ModelRecord


def study_in_run(run: RunFolder, name: str) -> RunFolder | None:
    """The study of that name in a run folder; None if there is none.

    Args:
        run: The run. A study of another model in its folder is refused.
        name: Of the command that makes such studies, and of the folder.
    """
    folder = run.path / name
    if not is_there(folder / MANIFEST, within=run.within):
        return None
    study = RunFolder(folder, Manifest.read(folder, within=run.within), run.within)
    if not _of_one_model(study.manifest.model, run.manifest.model):
        raise RunError(
            f"{folder} is a study of {study.manifest.model.name}, not of the model of the run, "
            f"{run.manifest.model.name}; move the study away"
        )
    return study


def refuse_unfinished(study: RunFolder, name: str) -> None:
    """Refuse a folder that holds no finished study of that name.

    Args:
        study: The folder.
        name: Of the command that makes such studies.
    """
    manifest = study.manifest
    if manifest.study is None or manifest.study.name != name:
        raise RunError(f"{study.path} holds no {name} study; make one with headscope {name}")
    if study.shards_done < manifest.shards:
        raise RunError(f"{study.path} is not finished; give the same {name} command again")


def _of_one_model(one: ModelRecord, other: ModelRecord) -> bool:
    """Whether two records are of one model, whichever layers were measured.

    Weights are not compared: a study reads a model with its head, whose hash is another.
    """
    ours, theirs = (
        {(site.stack, site.layer): (site.heads, site.d_head) for site in model.sites}
        for model in (one, other)
    )
    shared = ours.keys() & theirs.keys()
    same_heads = bool(shared) and all(ours[place] == theirs[place] for place in shared)
    same_words = one.tokenizer_hash == other.tokenizer_hash
    return one.name == other.name and same_words and same_heads
