"""The lens study in the folder of a run: what its layers guess, as sums over documents."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.findings.resampling.resampled_run import sum_by_document
from headscope.run import Run
from headscope.runs.files import is_there
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import Manifest

IN_RUN = "lens"
"""The folder of a run that holds the lens study of the same model, if there is one."""
SCORES = ("entropy", "cross_entropy")
COUNT = "scored"
"""The name of the column that counts scored positions."""
_AGAIN = "give the same lens command again"


@dataclass(frozen=True, eq=False)
class RunLens:
    """A finished lens study; of a masked language model, its hidden tokens."""

    folder: RunFolder
    stack: str
    layers: tuple[int, ...]
    """0 stands for what the first layer reads."""
    windows: NDArray[np.int64]
    """The numbers of the windows that were scored."""
    sums: Mapping[str, Float64[np.ndarray, "window layer"]]
    """Sums of the scores over positions, and the number of positions."""

    def by_document(
        self, of_window: NDArray[np.int64], documents: int
    ) -> dict[str, Float64[np.ndarray, "document layer head"]]:
        """The sums over the windows of each document; the axis of heads has length 1.

        Args:
            of_window: The document of each window of the study.
            documents: Number of documents.
        """
        place = of_window[self.windows]
        return {
            name: sum_by_document(values, place, documents)[:, :, None]
            for name, values in self.sums.items()
        }


def lens_of_run(run: Run) -> RunLens | None:
    """The lens study in the folder of a run; None if there is none that guesses tokens.

    Args:
        run: A study of another model in its folder is refused.
    """
    path, within = run.files.path / IN_RUN, run.files.within
    if not is_there(path / MANIFEST, within=within):
        return None
    study = RunFolder(path, Manifest.read(path, within=within), within)
    record, ours = study.manifest.study, run.manifest.model
    if record is None or record.name != IN_RUN:
        raise RunError(f"{path} holds no lens study; move it away")
    if "outcome" not in record.settings:
        return None  # parts of speech
    theirs = study.manifest.model
    if (theirs.name, theirs.tokenizer_hash) != (ours.name, ours.tokenizer_hash):
        raise RunError(
            f"{path} is a study of {theirs.name}, not of the model of the run, {ours.name}; move "
            "the study away"
        )
    if study.shards_done < study.manifest.shards:
        raise RunError(f"{path} is not finished; {_AGAIN}")
    return _read(study)


def _read(study: RunFolder) -> RunLens:
    manifest = study.manifest
    stack = "decoder" if "decoder" in manifest.stacks else manifest.stacks[0]
    asked = manifest.settings.layers
    every = range(manifest.layers_of(stack) + 1)
    layers = tuple(layer for layer in every if asked is None or layer in asked)
    windows: list[NDArray[np.int64]] = []
    sums: dict[str, list[NDArray[np.float64]]] = {name: [] for name in (*SCORES, COUNT)}
    for number in range(manifest.shards):
        numbers, arrays = _checked(study, number, len(layers))
        windows.append(numbers)
        for name in SCORES:
            sums[name].append(np.nansum(arrays[name][:, 0], axis=-1))
        sums[COUNT].append(np.isfinite(arrays[SCORES[0]][:, 0]).sum(axis=-1).astype(np.float64))
    return RunLens(
        study,
        stack,
        layers,
        np.concatenate(windows),
        {name: np.concatenate(parts) for name, parts in sums.items()},
    )


def _checked(
    study: RunFolder, number: int, layers: int
) -> tuple[NDArray[np.int64], Mapping[str, NDArray[np.float64]]]:
    """The windows of a shard and their scores; files that do not fit the study are refused."""
    shard = study.shards.read(number)
    first = sum(study.manifest.corpus.shard_texts[:number])
    of_shard = np.arange(first, first + study.manifest.corpus.shard_texts[number])
    expected = np.setdiff1d(of_shard, [window.text for window in study.left_out_of(number)])
    fits = shard.rows.schema == pa.schema({"text": pa.int64()}) and np.array_equal(
        shard.rows["text"].to_numpy(), expected
    )
    for name in SCORES:
        values = shard.arrays.get(name)
        fits = fits and values is not None and values.dtype == np.float64 and values.ndim == 4
        if fits and values is not None:
            rows, groups, there, _ = values.shape
            fits = (rows, there) == (len(expected), layers) and groups > 0
            fits = fits and not np.isinf(values).any()
    if not fits:
        raise RunError(
            f"shard {number} of {study.shards.folder} does not fit the study; delete its files and "
            f"{_AGAIN}"
        )
    return expected, shard.arrays
