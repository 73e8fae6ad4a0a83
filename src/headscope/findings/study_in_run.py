"""Studies in the folder of a run: one of the same model belongs to the run.

A study of `headscope reach` in `RUN/reach`, or of `headscope lens` in `RUN/lens`, is read with the
run, without the model: tables of the run and its report have what it found.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.runs.files import is_there
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import Manifest
from headscope.runs.records import ModelRecord
from headscope.runs.row_check import refuse_no_numbers

Arrays = Mapping[str, NDArray[np.float64]]
"""The arrays of a shard of a study, by name."""


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


def study_shard(
    study: RunFolder, number: int, name: str, fits: Callable[[Arrays, int], bool]
) -> tuple[NDArray[np.int64], Arrays]:
    """The windows of a shard and their arrays; files that do not fit the study are refused.

    Args:
        study: The folder.
        number: Of the shard.
        name: Of the command that makes such studies.
        fits: Whether arrays have the names and shapes that this number of windows gives.
    """
    shard = study.shards.read(number)
    first = sum(study.manifest.corpus.shard_texts[:number])
    of_shard = np.arange(first, first + study.manifest.corpus.shard_texts[number])
    expected = np.setdiff1d(of_shard, [window.text for window in study.left_out_of(number)])
    try:
        refuse_no_numbers(shard.arrays)
        whole = (
            shard.rows.schema == pa.schema({"text": pa.int64()})
            and np.array_equal(shard.rows["text"].to_numpy(), expected)
            and fits(shard.arrays, len(expected))
        )
    except ValueError:
        whole = False
    if not whole:
        raise RunError(
            f"shard {number} of {study.shards.folder} does not fit the study; delete its files and "
            f"give the same {name} command again"
        )
    return expected, shard.arrays


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
