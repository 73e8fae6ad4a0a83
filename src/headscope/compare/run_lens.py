"""The lens study in the folder of a run: what its layers guess, as sums over documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float64
from numpy.typing import NDArray

from headscope.findings.lens.in_run import IN_RUN
from headscope.findings.resampling.resampled_run import sum_by_document
from headscope.findings.study_in_run import Arrays, refuse_unfinished, study_in_run, study_shard
from headscope.run import Run
from headscope.runs.folder import RunFolder

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
        return None  # probes of words or trees: no token is guessed
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
        numbers, arrays = study_shard(study, number, IN_RUN, partial(_fits, layers=len(layers)))
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


def _fits(arrays: Arrays, windows: int, layers: int) -> bool:
    """Whether the scores of a shard have the shapes of the study."""
    for name in SCORES:
        values = arrays.get(name)
        if values is None or values.ndim != 4 or not values.shape[1]:
            return False
        if (values.shape[0], values.shape[2]) != (windows, layers):
            return False
    return True
