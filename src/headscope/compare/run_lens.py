"""The lens study in the folder of a run: what its layers guess, as sums over documents."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.findings.lens.in_run import IN_RUN
from headscope.findings.resampling.resampled_run import sum_by_document
from headscope.findings.study_in_run import refuse_unfinished, study_in_run
from headscope.run import Run
from headscope.runs.folder import RunFolder
from headscope.runs.row_check import refuse_no_numbers

SCORES = ("entropy", "cross_entropy")
COUNT = "scored"
"""The name of the column that counts scored positions."""


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


def lens_sums(run: Run) -> RunLens | None:
    """The lens study in the folder of a run; None if there is none that guesses tokens.

    Args:
        run: A study of another model in its folder is refused.
    """
    study = study_in_run(run.files, IN_RUN)
    if study is None:
        return None
    refuse_unfinished(study, IN_RUN)
    assert study.manifest.study is not None
    if "outcome" not in study.manifest.study.settings:
        return None  # parts of speech
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
    try:
        refuse_no_numbers(shard.arrays)
    except ValueError:
        fits = False
    if not fits:
        raise RunError(
            f"shard {number} of {study.shards.folder} does not fit the study; delete its files and "
            "give the same lens command again"
        )
    return expected, shard.arrays
