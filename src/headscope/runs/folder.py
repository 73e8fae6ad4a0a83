"""A run on disk: its manifest, windows, shards and left-out windows.

    manifest.json            what the run is
    windows/00000.parquet    the windows of each shard
    shards/00000.*           the numbers of each shard, with a receipt
    results.nc               the reduced arrays: the run is finished
    nulls/untrained-0/       a run folder for each untrained model
    report.html

`RunFolder` is all that measuring needs of a run, and light: it imports no pandas, no xarray and no
pages. What people ask of a finished run is in `headscope.run`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.measures.columns import KEY_COLUMNS, column_type
from headscope.runs.files import is_unchanged
from headscope.runs.left_out import LeftOut
from headscope.runs.manifest import Manifest
from headscope.runs.parquet_files import open_verified, refuse_unreadable
from headscope.runs.shards import ShardStore
from headscope.runs.window_files import WINDOW_SCHEMA, read_windows, window_file
from headscope.text.windows import Window

if TYPE_CHECKING:
    import pyarrow.dataset as ds

RESULTS = "results.nc"
"""The reduced arrays: a run that has them is finished."""
REPORT = "report.html"
NULLS = "nulls"
"""The folder that holds the runs of the untrained model, one run folder for each seed."""


class RunFolder:
    """The files of a run, finished or not."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Describe a run; `open` opens one that exists.

        Args:
            path: Its folder, which need not exist yet.
            manifest: What the run is; it need not be written yet.
        """
        self.path = path
        self.manifest = manifest
        self.shards = ShardStore(path / "shards")

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The run in a folder; a folder without a run is refused.

        Args:
            path: The run folder.
        """
        if not path.is_dir():
            raise RunError(f"no run at {path}: there is no such folder; make one with analyze")
        return cls(path, Manifest.read(path))

    @property
    def shards_done(self) -> int:
        """Number of shards that are written."""
        return sum(self.shards.is_written(number) for number in range(self.manifest.shards))

    @property
    def finished(self) -> bool:
        """Whether the run has its results."""
        return (self.path / RESULTS).is_file()

    @property
    def left_out(self) -> list[LeftOut]:
        """The windows that could not be measured, and why; they are in none of the numbers."""
        written = filter(self.shards.is_written, range(self.manifest.shards))
        return [window for number in written for window in self.shards.left_out(number)]

    @property
    def nulls(self) -> list["RunFolder"]:
        """The finished runs of the untrained model, by seed."""
        return [
            RunFolder.open(path.parent)
            for path in sorted(self.path.glob(f"{NULLS}/*/manifest.json"))
        ]

    def null(self, seed: int) -> Path:
        """Where the run of the untrained model with a seed is, or will be."""
        return self.path / NULLS / f"untrained-{seed}"

    def rows(self) -> "ds.Dataset":
        """A row per window, stack, layer and head, as an Arrow dataset."""
        files = self.shards.row_files(self.manifest.corpus.shard_texts)
        if not files:
            raise RunError(f"{self.path} has no measured window yet; run analyze again")
        return open_verified(
            files,
            required=KEY_COLUMNS,
            type_of=column_type,
            advice="run the same analyze command again to measure it again",
        )

    def windows(self) -> "ds.Dataset":
        """A row per window: its tokens, their offsets and sentences, as an Arrow dataset."""
        # By number: a first attempt that was killed may have left more files than this run has.
        files = {
            self.path / window_file(number): expected
            for number, expected in enumerate(self.manifest.corpus.window_hashes)
        }
        types = dict(zip(WINDOW_SCHEMA.names, WINDOW_SCHEMA.types, strict=True))
        windows = open_verified(
            files,
            required=tuple(types),
            type_of=types.get,
            advice="run the same analyze command again to cut the windows again",
        )
        with self.refusing_unreadable():
            found = windows.count_rows()
        if found != self.manifest.corpus.windows:
            raise RunError(
                f"{self.path} has {found} windows, its manifest says "
                f"{self.manifest.corpus.windows}; take a whole copy of the run"
            )
        return windows

    def read_windows(self, number: int, columns: list[str] | None = None) -> list[Window]:
        """The windows of a shard, once their checksum is verified.

        Args:
            number: Number of the shard.
            columns: Which columns to read; None for all.
        """
        expected = self.manifest.corpus.window_hashes[number]
        return read_windows(self.path, number, expected, columns)

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
            is_unchanged(self.path / window_file(number), expected)
            for number, expected in enumerate(self.manifest.corpus.window_hashes)
        )

    def refusing_unreadable(self) -> AbstractContextManager[None]:
        """While open, errors of Arrow become a RunError that names the run."""
        return refuse_unreadable(f"a table of {self.path}")
