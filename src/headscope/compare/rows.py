"""The rows of a comparison: each stack of each run, trained and untrained, with its samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headscope.compare.run_lens import RunLens, lens_sums
from headscope.compare.shared_documents import (
    SharedDocuments,
    resample_stack,
    shared_documents,
)
from headscope.findings.resampling.resampled_run import ResampledRun
from headscope.pages.figures.source import short_name
from headscope.run import Run
from headscope.runs.folder import RunFolder


@dataclass(frozen=True, eq=False)
class Row:
    """One stack of one run, or of its untrained models pooled."""

    label: str
    """Name of the run among those compared."""
    run: Run
    stack: str
    seeds: int
    """Number of untrained models that are pooled; 0 for the model itself."""
    documents: SharedDocuments
    resampled: ResampledRun
    lens: RunLens | None = None
    """The lens study in the folder of the run, where it was asked for."""
    lens_documents: SharedDocuments | None = None

    @property
    def name(self) -> str:
        """The row in words."""
        stack = f" {self.stack}" if len(self.run.manifest.stacks) > 1 else ""
        return f"{self.label}{stack}{' untrained' if self.seeds else ''}"

    @property
    def deepest(self) -> int:
        """Number of layers of the stack, measured or not: depth is relative to it."""
        return self.run.manifest.layers_of(self.stack)


def comparison_rows(
    runs: Mapping[str, Run], *, untrained: bool, seed: int, lens: bool = False
) -> list[Row]:
    """Every stack of every run, each followed by its untrained models if asked for.

    All rows are resampled together, so that their differences have intervals.

    Args:
        runs: By label, see `label_runs`.
        untrained: Whether the untrained models of each run get a row.
        seed: Of the bootstrap.
        lens: Whether the lens studies of the runs are read.
    """
    nulls = {label: run.untrained if untrained else [] for label, run in runs.items()}
    found = {label: lens_sums(run) if lens else None for label, run in runs.items()}
    every: list[Run | RunFolder] = []
    for label, run in runs.items():
        study = found[label]
        every += [run, *nulls[label], *([] if study is None else [study.folder])]
    documents = dict(zip(map(id, every), shared_documents(every), strict=True))
    rows = []
    for label, run in runs.items():
        study = found[label]
        for stack in run.manifest.stacks:
            for members in ([run], nulls[label]):
                if members:
                    of_members = [documents[id(member)] for member in members]
                    resampled = resample_stack(members, of_members, stack, seed)
                    seeds = 0 if members[0] is run else len(members)
                    row = Row(label, run, stack, seeds, of_members[0], resampled)
                    if study is not None and study.stack == stack and not seeds:
                        row = replace(row, lens=study, lens_documents=documents[id(study.folder)])
                    rows.append(row)
    return rows


def reference_of(row: Row, rows: Sequence[Row]) -> Row | None:
    """The row that a row is compared with; None for the rows of the first run.

    Untrained models are compared with the same stack of their trained model. Any other run is
    compared with the same stack of the first run, or with the first stack of the first run where
    that has no such stack.

    Args:
        row: One of the rows.
        rows: All of them, those of the first run first.
    """
    if row.seeds:
        return next(
            other
            for other in rows
            if other.label == row.label and other.stack == row.stack and not other.seeds
        )
    firsts = [other for other in rows if other.label == rows[0].label and not other.seeds]
    if row in firsts:
        return None
    return next((other for other in firsts if other.stack == row.stack), firsts[0])


def label_runs(runs: Sequence[Run]) -> dict[str, Run]:
    """The runs by the names of their models; with the folder where models alone do not differ.

    Args:
        runs: In the order in which they are compared.
    """
    models = [short_name(run.manifest.model.name) for run in runs]
    if len(set(models)) == len(runs):
        return dict(zip(models, runs, strict=True))
    folders = _label_folders([run.folder.resolve() for run in runs])
    labels = [f"{model} ({folder})" for model, folder in zip(models, folders, strict=True)]
    return dict(zip(labels, runs, strict=True))


def _label_folders(paths: Sequence[Path]) -> list[str]:
    """The names of folders, with as much of the path as tells them apart."""
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        labels = [str(Path(*path.parts[-parts:])) for path in paths]
        if len(set(labels)) == len(paths):
            return labels
    # The same folder twice.
    return [f"{path.name}, {number}" for number, path in enumerate(paths, 1)]
