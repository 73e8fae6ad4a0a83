"""A run on disk: its manifest, windows, shards and left-out windows.

    manifest.json            what the run is
    windows/00000.parquet    the windows of each shard
    shards/00000.*           the numbers of each shard, with a receipt
    results.nc               the reduced arrays: the run is finished
    robustness/              a sample of the windows under every analysis choice
    signal/                  signal and noise over the same sample, and what heads write
    nulls/untrained-0/       a run folder for each untrained model
    report.html

`RunFolder` is all that measuring needs of a run, and light: it imports no pandas, no xarray and no
pages. What people ask of a finished run is in `headscope.run`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headscope.errors import RunError, in_one_line
from headscope.measures.columns import KEY_COLUMNS, column_type
from headscope.runs.corpus_summary import LabelCount, label_counts
from headscope.runs.files import is_there, is_unchanged
from headscope.runs.left_out import LeftOut
from headscope.runs.lock import is_being_written
from headscope.runs.manifest import FILE_NAME as MANIFEST
from headscope.runs.manifest import RECEIPTS_SINCE, Manifest
from headscope.runs.nulls import refuse_foreign_nulls
from headscope.runs.parquet_files import open_verified, refuse_unreadable
from headscope.runs.row_check import (
    refuse_wrong_arrays,
    refuse_wrong_columns,
    refuse_wrong_keys,
    refuse_wrong_row_file,
    rows_of_window,
)
from headscope.runs.shards import Shard, ShardStore
from headscope.runs.window_files import (
    LATER_COLUMNS,
    WINDOW_SCHEMA,
    read_window_table,
    read_windows,
    window_file,
)
from headscope.system.untrusted import refuse_links
from headscope.text.windows import Window

if TYPE_CHECKING:
    import pyarrow.dataset as ds

RESULTS = "results.nc"
"""The reduced arrays: a run that has them is finished."""
REPORT = "report.html"
NULLS = "nulls"
"""The folder that holds the runs of the untrained model, one run folder for each seed."""
_NULL = re.compile(r"untrained-(\d{1,9})")


class RunFolder:
    """The files of a run, finished or not."""

    def __init__(self, path: Path, manifest: Manifest, within: Path | None = None) -> None:
        """Describe a run; `open` opens one that exists.

        Args:
            path: Its folder, which need not exist yet.
            manifest: What the run is; it need not be written yet.
            within: The run folder that it lies in, for the run of an untrained model.
        """
        self.path = path
        self.manifest = manifest
        self.within = within or path
        """The outermost run folder: links below it are not followed."""
        # Receipts of older versions name no run.
        digest = manifest.digest if manifest.schema >= RECEIPTS_SINCE else None
        self.shards = ShardStore(path / "shards", digest, self.within)
        self._checked: set[str] = set()
        """Checksums and names of files whose content was found to fit the manifest."""
        self._columns: set[str] | None = None
        """The columns of the rows, the same in every shard."""

    @classmethod
    def open(cls, path: Path, within: Path | None = None) -> "RunFolder":
        """The run in a folder; a folder without a run is refused.

        Args:
            path: The run folder.
            within: The run folder that it lies in, if any.
        """
        if not path.is_dir():
            raise RunError(f"no run at {path}: there is no such folder; make one with analyze")
        try:
            return cls(path, _manifest_of_run(path, within), within)
        except RunError as error:
            if is_being_written(path) and not is_there(path / MANIFEST, within=within or path):
                raise RunError(
                    f"{path} is being written, and its windows are still being cut; look again "
                    "in a while"
                ) from error
            raise

    @property
    def shards_done(self) -> int:
        """Number of shards that are written."""
        return sum(self.shards.is_written(number) for number in range(self.manifest.shards))

    @property
    def finished(self) -> bool:
        """Whether the run has its results."""
        return is_there(self.path / RESULTS, within=self.within)

    @property
    def left_out(self) -> list[LeftOut]:
        """The windows that could not be measured, and why; they are in none of the numbers."""
        written = filter(self.shards.is_written, range(self.manifest.shards))
        return [window for number in written for window in self.left_out_of(number)]

    def left_out_of(self, number: int) -> tuple[LeftOut, ...]:
        """The windows of a written shard that could not be measured.

        Args:
            number: Of the shard.
        """
        left_out = self.shards.left_out(number)
        places = [window.text for window in left_out]
        if sorted(set(places)) != places or not set(places) <= set(self._windows_of(number)):
            raise RunError(
                f"shard {number} of {self.shards.folder} leaves out windows that it does not "
                "have; run the same analyze command again to measure it again"
            )
        return left_out

    def read_shard(self, number: int) -> Shard:
        """A shard, once its checksums are verified and its rows are those of its windows.

        Args:
            number: Of the shard.
        """
        shard = self.shards.read(number)
        windows = self._measured_windows(number)
        with self._refusing_misfits(f"shard {number} of {self.shards.folder}"):
            refuse_wrong_columns(
                shard.rows.schema, shard.rows.num_rows, len(windows) * rows_of_window(self.manifest)
            )
            refuse_wrong_keys(shard.rows, self.manifest, windows)
            if len(windows):
                refuse_wrong_arrays(shard.arrays, self.manifest)
        return shard

    @property
    def nulls(self) -> list["RunFolder"]:
        """The finished runs of the untrained model, by seed."""
        folder = self.path / NULLS
        refuse_links(folder, self.within)
        if not folder.is_dir():
            return []
        found = {
            int(match[1]): path
            for path in folder.iterdir()
            if (match := _NULL.fullmatch(path.name))
        }
        for path in found.values():
            refuse_links(path, self.within)
            if not path.is_dir():
                raise RunError(f"{path} is not a run: it is no folder; move it away")
        nulls = [
            RunFolder.open(path, self.within)
            for _, path in sorted(found.items())
            if is_there(path / MANIFEST, within=self.within)
        ]
        refuse_foreign_nulls(self.manifest, {null.path: null.manifest for null in nulls})
        return nulls

    def null(self, seed: int) -> Path:
        """Where the run of the untrained model with a seed is, or will be."""
        return self.path / NULLS / f"untrained-{seed}"

    def rows(self) -> "ds.Dataset":
        """A row per window, stack, layer and head, as an Arrow dataset."""
        if self.finished and self.shards_done < self.manifest.shards:
            raise RunError(
                f"{self.path} has results, but only {self.shards_done} of {self.manifest.shards} "
                "shards; run the same analyze command again to measure the others again"
            )
        files = {}
        for number in filter(self.shards.is_written, range(self.manifest.shards)):
            windows = self._measured_windows(number)
            if len(windows):
                path, digest = self.shards.row_file(number)
                self._check_rows(path, digest, windows)
                files[path] = digest
        if not files:
            raise RunError(f"{self.path} has no measured window yet; run analyze again")
        return open_verified(
            files,
            required=KEY_COLUMNS,
            type_of=column_type,
            advice="run the same analyze command again to measure it again",
            within=self.within,
        )

    def windows(self) -> "ds.Dataset":
        """A row per window: its tokens, their offsets and sentences, as an Arrow dataset."""
        # By number: a first attempt that was killed may have left more files than this run has.
        files = {
            self.path / window_file(number): expected
            for number, expected in enumerate(self.manifest.corpus.window_hashes)
        }
        for number, path in enumerate(files):
            if (key := f"{files[path]} {path.name}") not in self._checked:
                read_window_table(self.path, self.manifest, number, within=self.within)
                self._checked.add(key)
        types = dict(zip(WINDOW_SCHEMA.names, WINDOW_SCHEMA.types, strict=True))
        return open_verified(
            files,
            required=tuple(name for name in types if name not in LATER_COLUMNS),
            type_of=types.get,
            advice="run the same analyze command again to cut the windows again",
            within=self.within,
        )

    def labels(self) -> list[LabelCount]:
        """The labels of the windows with their counts; empty if the corpus has none."""
        with self.refusing_unreadable():
            return label_counts(self.windows())

    def read_windows(self, number: int, columns: list[str] | None = None) -> list[Window]:
        """The windows of a shard, once their checksum is verified.

        Args:
            number: Number of the shard.
            columns: Which columns to read; None for all.
        """
        return read_windows(self.path, self.manifest, number, columns, within=self.within)

    def read_windows_at(self, places: Sequence[int] | NDArray[np.int64]) -> list[Window]:
        """The windows at some places of the run, in order of their shards.

        Args:
            places: Numbers of windows in the run, from 0.
        """
        wanted = np.asarray(places, dtype=np.int64)
        windows: list[Window] = []
        first = 0
        for number, size in enumerate(self.manifest.corpus.shard_texts):
            here = wanted[(wanted >= first) & (wanted < first + size)] - first
            if len(here):
                shard = self.read_windows(number)
                windows += [shard[place] for place in here]
            first += size
        return windows

    def windows_are_whole(self) -> bool:
        """Whether the windows of all shards are there, unchanged."""
        return all(
            is_unchanged(self.path / window_file(number), expected, within=self.within)
            for number, expected in enumerate(self.manifest.corpus.window_hashes)
        )

    def refusing_unreadable(self) -> AbstractContextManager[None]:
        """While open, errors of Arrow become a RunError that names the run."""
        return refuse_unreadable(f"a table of {self.path}")

    def _windows_of(self, number: int) -> range:
        """The numbers of the windows of a shard."""
        return range(self._ends[number - 1] if number else 0, self._ends[number])

    @cached_property
    def _ends(self) -> list[int]:
        """For each shard, the number of the window after its last."""
        return list(accumulate(self.manifest.corpus.shard_texts))

    def _measured_windows(self, number: int) -> NDArray[np.int64]:
        """The numbers of the windows of a shard that have rows, in order."""
        left_out = [window.text for window in self.left_out_of(number)]
        return np.setdiff1d(np.array(self._windows_of(number), dtype=np.int64), left_out)

    def _check_rows(self, path: Path, digest: str, windows: NDArray[np.int64]) -> None:
        """Refuse a file of rows that do not fit the manifest, once for each checksum."""
        key = f"{digest} {path.name}"
        if key in self._checked or not is_unchanged(path, digest, within=self.within):
            return  # what is damaged is refused later, by name
        with self._refusing_misfits(str(path)):
            columns = refuse_wrong_row_file(path, self.manifest, windows)
            if columns != (self._columns or columns):
                raise ValueError("its columns are not those of the other shards")
        self._columns = columns
        self._checked.add(key)

    @contextmanager
    def _refusing_misfits(self, what: str) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            raise RunError(
                f"{what} does not fit the manifest: {in_one_line(error)}; delete its files and run "
                "the same analyze command again"
            ) from error


def _manifest_of_run(path: Path, within: Path | None) -> Manifest:
    manifest = Manifest.read(path, within=within)
    if manifest.study is not None:
        raise RunError(
            f"{path} holds no run, but what headscope {manifest.study.name} measured; give that "
            "command again with the same options to see it"
        )
    return manifest
