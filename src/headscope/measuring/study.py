"""A study: numbers of every window of a corpus that are not those of a run, kept in the same way.

A study says how it is called, what identifies it, and what it measures of a few windows:

    @dataclass(frozen=True)
    class Length:
        model: LoadedModel
        name: str = "length"
        settings: Mapping[str, Setting] = field(default_factory=dict)
        steps: int = 1

        @property
        def cells(self) -> dict[str, tuple[int, ...]]:
            return {"tokens": (), "by_kind": (9,)}      # a number, and nine numbers, per window

        def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
            tokens = np.array([float(window.n_tokens) for window in windows])
            kinds = np.stack([np.bincount(window.kinds, minlength=9) for window in windows])
            advance(len(windows))
            return {"tokens": tokens, "by_kind": kinds.astype(np.float64)}

A study of several windows at once has an attribute `together`: the number of consecutive windows of
a shard that are a batch. One that must look at all windows before it measures any has a method
`prepare(run, progress)`. One whose cells are more than numbers, such as tokens, has a method
`refuse_impossible(cells)`, since shards may come from elsewhere. `run_study` does the rest, with
what `analyze` has: windows in the folder, a shard at a time, written once with a receipt, one
writer, progress and a log; the same call resumes. It gives the cells of all windows;
`headscope.findings.resampling.window_cells` makes intervals of them.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.measuring.batch import batches, is_out_of_memory
from headscope.measuring.describe import describe_run
from headscope.measuring.run_windows import cut_run_windows, restore_run_windows, resumed_manifest
from headscope.measuring.shard import (
    missing_shards,
    refuse_unknown_tokens,
    say_left_out,
    windows_done,
)
from headscope.measuring.windows import CorpusRequest
from headscope.models.loaded import LoadedModel
from headscope.runs.files import write_whole
from headscope.runs.folder import RunFolder
from headscope.runs.gate_records import StudyRecord
from headscope.runs.left_out import LeftOut
from headscope.runs.lock import only_writer
from headscope.runs.own_files import refuse_foreign_folder
from headscope.runs.row_check import refuse_no_numbers
from headscope.runs.shards import Shard
from headscope.settings import Settings
from headscope.system.journal import Journal
from headscope.system.memory import give_back_free_memory
from headscope.system.progress import Progress, SeveralProgresses
from headscope.text.windows import Window

RESULT = "study.json"
"""The result of a study, for people and programs; no number depends on it."""

Setting = str | int | float | bool | None
Cells = Mapping[str, NDArray[np.float64]]
"""By name, of shape (window, ...)."""
Advance = Callable[[int], None]


@runtime_checkable
class Study(Protocol):
    """What is measured of every window."""

    @property
    def name(self) -> str:
        """A plain word: that of the command."""

    @property
    def settings(self) -> Mapping[str, Setting]:
        """All that changes its numbers, besides model, corpus and `Settings`."""

    @property
    def cells(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of what is measured of one window, by name."""

    @property
    def steps(self) -> int:
        """Number of steps of a window, for progress."""

    def measure(self, windows: Sequence[Window], advance: Advance) -> Cells:
        """The cells of a batch of windows, a pure function of the windows.

        NaN stands for no value; a window that has NaN or infinity everywhere is left out.

        Args:
            windows: No more than fit into `Settings.batch_tokens`.
            advance: To be called with the number of steps done; `steps` times the windows in all.
        """


@runtime_checkable
class PreparedStudy(Protocol):
    """A study that looks at all windows before it measures any."""

    def prepare(self, run: RunFolder, progress: Progress) -> None:
        """Do what comes first, a pure function of the windows.

        Args:
            run: The folder, which has the windows.
            progress: Is told.
        """


@runtime_checkable
class CheckedStudy(Protocol):
    """A study whose cells stand for something, such as tokens."""

    def refuse_impossible(self, cells: Cells) -> None:
        """ValueError for numbers that this study cannot have measured, of the right shapes."""


@dataclass(frozen=True, eq=False)
class StudyTable:
    """What a finished study measured."""

    run: RunFolder
    """Its folder, which has the windows."""
    windows: NDArray[np.int64]
    """The numbers of the windows that have cells, in order."""
    cells: Cells
    """Of those windows."""
    left_out: tuple[LeftOut, ...]

    def write_result(self, values: Mapping[str, object]) -> None:
        """Put the result of the study into its folder, as JSON.

        Args:
            values: Plain values.
        """
        content = json.dumps(values, indent=1, ensure_ascii=False).encode() + b"\n"
        write_whole(self.run.path / RESULT, content, within=self.run.path)


def run_study(
    study: Study,
    model: LoadedModel,
    request: CorpusRequest,
    settings: Settings,
    folder: Path,
    *,
    progress: Progress,
    log: str | Path | None = None,
) -> StudyTable:
    """What a study measures of every window of a corpus; the same call resumes.

    Args:
        study: What is measured.
        model: What reads the windows.
        request: Which windows are asked for.
        settings: How windows are cut, how many make a shard and a batch, and the seed.
        folder: Where it is kept. Another run or study there is refused.
        progress: Is told of everything; it is not closed.
        log: A file to which every event is appended, besides the log in the folder.
    """
    record = StudyRecord(study.name, dict(study.settings))
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(log))
        reported = SeveralProgresses(progress, journal)
        refuse_foreign_folder(folder)
        stack.enter_context(only_writer(folder))
        manifest = resumed_manifest(model, request, settings, folder, reported, record)
        journal.keep_in(folder)
        if manifest is None:
            corpus = cut_run_windows(model, request, settings, folder, reported)
            sites = model.sites_of(settings.layers)
            manifest = describe_run(model, corpus, settings, sites, record)
            manifest.write(folder)
        else:
            restore_run_windows(model, request, folder, manifest, reported)
        run = RunFolder(folder, manifest)
        missing = missing_shards(run, reported)
        if missing and isinstance(study, PreparedStudy):
            study.prepare(run, reported)
        reported.stage(
            "windows",
            total=manifest.corpus.windows * study.steps,
            done=windows_done(run, missing) * study.steps,
        )
        for number in missing:
            started = time.monotonic()
            shard = _measure_shard(study, run, model, number, reported.advance)
            run.shards.write(number, shard)
            seconds = time.monotonic() - started
            reported.note("shard", number=number, texts=len(shard.rows), seconds=seconds)
            say_left_out(shard.left_out, reported)
            give_back_free_memory()
        return read_study(study, run)


def read_study(study: Study, run: RunFolder) -> StudyTable:
    """What a finished study measured, once its files are shown to fit it.

    Args:
        study: What was measured.
        run: Its folder.
    """
    shards = [_checked_shard(study, run, number) for number in range(run.manifest.shards)]
    windows = np.concatenate([shard.rows["text"].to_numpy() for shard in shards])
    if not len(windows):
        raise RunError(f"{run.path}: no window could be measured; see log.jsonl there")
    return StudyTable(
        run,
        windows,
        {name: np.concatenate([shard.arrays[name] for shard in shards]) for name in study.cells},
        tuple(window for shard in shards for window in shard.left_out),
    )


def _measure_shard(
    study: Study, run: RunFolder, model: LoadedModel, number: int, advance: Advance
) -> Shard:
    corpus, settings = run.manifest.corpus, run.manifest.settings
    windows = run.read_windows(number)
    refuse_unknown_tokens(run, model, windows)
    first = sum(corpus.shard_texts[:number])
    cells = {name: np.full((len(windows), *shape), np.nan) for name, shape in study.cells.items()}
    reasons: dict[int, tuple[str, str]] = {}
    together: int = getattr(study, "together", 0)
    groups = batches(windows, max_tokens=settings.batch_tokens)
    if together:
        every = range(len(windows))
        groups = [list(every[at : at + together]) for at in every[::together]]
    for group in groups:
        for places, measured in _measured(study, windows, group, advance):
            if measured is None:
                reasons |= dict.fromkeys(places, ("memory", "it does not fit into memory"))
                continue
            for name, values in measured.items():
                cells[name][places] = values
    usable = np.zeros(len(windows), dtype=bool)
    for values in cells.values():
        values[~np.isfinite(values)] = np.nan
        usable |= np.isfinite(values).any(axis=tuple(range(1, values.ndim)))
    left_out = tuple(
        LeftOut(
            first + place,
            windows[place].document,
            *reasons.get(place, ("not finite", "the model writes NaN or infinity")),  # type: ignore[arg-type]
        )
        for place in np.flatnonzero(~usable).tolist()
    )
    return Shard(
        rows=pa.table({"text": first + np.flatnonzero(usable)}),
        arrays={name: values[usable] for name, values in cells.items()},
        left_out=left_out,
    )


def _measured(
    study: Study, windows: Sequence[Window], places: Sequence[int], advance: Advance
) -> Iterator[tuple[list[int], Cells | None]]:
    """The cells of some windows, in halves where memory is short; None for one that never fits."""
    done = 0

    def count(steps: int) -> None:
        nonlocal done
        done += steps
        advance(steps)

    try:
        yield list(places), study.measure([windows[place] for place in places], count)
        return
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    advance(-done)
    if len(places) == 1:
        advance(study.steps)
        yield list(places), None
        return
    half = len(places) // 2
    for part in (places[:half], places[half:]):
        yield from _measured(study, windows, part, advance)


def _checked_shard(study: Study, run: RunFolder, number: int) -> Shard:
    """A shard whose numbers are those of its windows and of this study; others are refused."""
    shard = run.shards.read(number)
    first = sum(run.manifest.corpus.shard_texts[:number])
    of_shard = np.arange(first, first + run.manifest.corpus.shard_texts[number])
    left_out = [window.text for window in run.left_out_of(number)]
    wrong = shard.rows.schema != pa.schema({"text": pa.int64()}) or not np.array_equal(
        shard.rows["text"].to_numpy(), np.setdiff1d(of_shard, left_out)
    )
    shapes = {name: (len(shard.rows), *shape) for name, shape in study.cells.items()}
    there = {name: values.shape for name, values in shard.arrays.items()}
    if wrong or there != shapes:
        raise RunError(
            f"shard {number} of {run.shards.folder} does not fit the study; delete its files and "
            "give the same command again"
        )
    try:
        refuse_no_numbers(shard.arrays)
        if isinstance(study, CheckedStudy):
            study.refuse_impossible(shard.arrays)
    except ValueError as error:
        raise RunError(
            f"shard {number} of {run.shards.folder} has numbers that {study.name} does not "
            f"measure: {error}; delete its files and give the same command again"
        ) from error
    return shard
