"""The bootstrap of several runs: the same documents are drawn for all runs of a corpus.

Two models that read the same documents have errors in common: a document that is odd for one is
odd for the other. Drawing each document for both at once lets that cancel in their difference. It
does no harm where it is wrong: values of unrelated documents, drawn together, still have an
independent difference. So documents are identified by corpus and name, and models with different
tokenizers, whose windows differ, are paired too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
from jaxtyping import Int
from numpy.typing import NDArray

from headscope.compare.quantities import COLUMNS
from headscope.findings.resampling.documents import document_numbers
from headscope.findings.resampling.resampled_run import ResampledRun, resample_columns
from headscope.run import Run
from headscope.runs.folder import RunFolder
from headscope.runs.parquet_files import refuse_unreadable


@dataclass(frozen=True, eq=False)
class SharedDocuments:
    """The document that each window of a run belongs to, numbered alike in all runs of a group.

    Where a whole corpus is one document, its windows are numbered instead.
    """

    group: int
    """Runs of one group have a corpus in common; groups are drawn independently."""
    size: int
    """Number of documents of all runs of the group."""
    of_window: Int[np.ndarray, " window"]
    """The number of each window's document."""

    @property
    def present(self) -> set[int]:
        """The documents that the run has windows of."""
        return set(self.of_window.tolist())

    def shared(self, other: "SharedDocuments") -> int:
        """The number of documents that two runs have in common.

        Args:
            other: The documents of the other run.
        """
        return len(self.present & other.present) if self.group == other.group else 0


def shared_documents(runs: Sequence[Run | RunFolder]) -> list[SharedDocuments]:
    """The documents of each run, or its windows where a corpus is one document.

    Args:
        runs: Those that are compared, and studies of the same texts; runs of the same corpus form
            a group.
    """
    corpora = [tuple(Path(source).name for source in run.manifest.corpus.sources) for run in runs]
    documents: list[SharedDocuments | None] = [None] * len(runs)
    for group, corpus in enumerate(dict.fromkeys(corpora)):
        members = [place for place, of_run in enumerate(corpora) if of_run == corpus]
        numbers = _numbers([runs[place] for place in members])
        size = 1 + max(int(of_run.max()) for of_run in numbers)
        for place, of_window in zip(members, numbers, strict=True):
            documents[place] = SharedDocuments(group, size, of_window)
    return [of_run for of_run in documents if of_run is not None]


def resample_stack(
    runs: Sequence[Run], documents: Sequence[SharedDocuments], stack: str, seed: int
) -> ResampledRun:
    """A stack of one run, or of several untrained models pooled, with its bootstrap samples.

    Heads are added up: the head axis has length 1.

    Args:
        runs: One run, or the untrained models of one.
        documents: Of each of them.
        stack: Name of the stack.
        seed: The same seed draws the same documents for all runs of a group.
    """
    size, group = documents[0].size, documents[0].group
    columns: dict[str, NDArray[np.float64]] = {}
    layers: tuple[int, ...] = ()
    for run, of_run in zip(runs, documents, strict=True):
        table = run.findings.window_table(stack, COLUMNS)
        layers = table.layers
        for name, values in table.columns.items():
            per_window = np.nansum(values, axis=2, keepdims=True)
            summed = columns.setdefault(name, np.zeros((size, len(layers), 1)))
            np.add.at(summed, of_run.of_window, per_window)
            # A column that does not apply is absent, not zero.
            summed[:, np.isnan(values).all(axis=(0, 2))] = np.nan
    return resample_columns(columns, layers, seed + group)


def _numbers(runs: Sequence[Run | RunFolder]) -> list[NDArray[np.int64]]:
    """The number of each window's document, in runs of one corpus."""
    windows = [run.windows() for run in runs]
    folders = [run.folder if isinstance(run, Run) else run.path for run in runs]
    with refuse_unreadable(f"a table of {', '.join(map(str, folders))}"):
        if len(set().union(*map(_ids, windows))) > 1:
            return document_numbers(*windows)
    # Windows of one book: the same ones only where they were cut the same.
    corpora = {run.manifest.corpus.window_hashes: run.manifest.corpus.windows for run in runs}
    ends = dict(zip(corpora, np.cumsum(list(corpora.values())).tolist(), strict=True))
    return [
        np.arange(ends[hashes] - corpora[hashes], ends[hashes], dtype=np.int64)
        for hashes in (run.manifest.corpus.window_hashes for run in runs)
    ]


def _ids(windows: ds.Dataset) -> set[str]:
    """The ids of the documents; copies have ids of their own."""
    return set(windows.to_table(columns=["document"])["document"].unique().to_pylist())
