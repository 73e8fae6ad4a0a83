"""Shards: the numbered pieces of a run's result, each written once, whole, with a checksum.

A shard is three files: rows (`00000.parquet`), summed arrays (`00000.safetensors`), and a receipt
(`00000.json`) with the SHA-256 of both, the run and the number that they belong to, and the windows
that were left out. The receipt is written last: a shard counts when its receipt is there, is of
this run and number, and its files are those that the receipt names.

Sums of symmetric matrices are stored as upper triangles in single precision, since summed
similarity is most of a shard; shards are added up in double precision.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from headscope.errors import RunError, in_one_line
from headscope.runs.files import is_there, is_unchanged, read_json, write_whole
from headscope.runs.left_out import LeftOut
from headscope.runs.parquet_files import read_bounded


def packed_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of matrices on the last two axes when only their upper triangles are kept.

    Row after row, diagonal included, as one axis.
    """
    *others, n, _ = shape
    return (*others, n * (n + 1) // 2)


def unpack_triangle(packed: NDArray[np.float64]) -> NDArray[np.float64]:
    """The symmetric matrices whose upper triangles were packed."""
    size = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(size)
    matrices = np.zeros((*packed.shape[:-1], size, size))
    matrices[..., rows, columns] = packed
    matrices[..., columns, rows] = packed
    return matrices


def mirrored(matrices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrices of which only the upper triangle was filled, made symmetric."""
    upper = np.triu(matrices)
    return upper + np.triu(matrices, 1).swapaxes(-1, -2)


FILES = ("parquet", "safetensors")
"""The files of a shard besides its receipt, by their endings."""

_AGAIN = "run the same analyze command again to measure it again"


@dataclass(frozen=True)
class Shard:
    """What one shard holds."""

    rows: pa.Table
    """A row per window, stack, layer and head."""
    arrays: Mapping[str, NDArray[Any]]
    """Summed arrays by `stack/name`, of shape (layer, head, ...), or (...) if not per head."""
    left_out: tuple[LeftOut, ...] = ()
    """The windows of the shard that have no rows and are in no sum."""


@dataclass(frozen=True, slots=True)
class ShardStore:
    """The shards of a run folder."""

    folder: Path
    run: str | None = None
    """The digest of the manifest, which receipts must name; None for runs of older versions."""
    within: Path | None = None
    """The outermost run folder; the parent of `folder`, if None."""

    def write(self, number: int, shard: Shard) -> None:
        """Write a shard; the receipt comes last."""
        buffer = io.BytesIO()
        pq.write_table(shard.rows, buffer, compression="zstd")
        # safetensors writes memory as it lies: an array with permuted strides, such as fancy
        # indexing makes, would come back scrambled.
        arrays = safetensors.numpy.save(
            {name: np.ascontiguousarray(values) for name, values in shard.arrays.items()}
        )
        receipt = {
            **({"run": self.run, "shard": number} if self.run else {}),
            "parquet": self._write(number, "parquet", buffer.getvalue()),
            "safetensors": self._write(number, "safetensors", arrays),
            "left_out": [asdict(window) for window in shard.left_out],
        }
        self._write(number, "json", json.dumps(receipt, indent=1).encode())

    def is_whole(self, number: int) -> bool:
        """Whether a shard is there, undamaged, and of this run. If not, it is measured again."""
        try:
            receipt = self._receipt(number)
            self.left_out(number)
            return all(
                is_unchanged(self.path(number, ending), receipt[ending], within=self._within)
                for ending in FILES
            )
        except RunError:
            return False

    def is_written(self, number: int) -> bool:
        """Whether a shard has its receipt; its files are not read."""
        return is_there(self.path(number, "json"), within=self._within)

    def left_out(self, number: int) -> tuple[LeftOut, ...]:
        """The windows of a written shard that could not be measured, by its receipt."""
        path = self.path(number, "json")
        try:
            # Receipts of schema 1 have no such list.
            left_out = read_json(path, within=self._within).get("left_out", [])
            return tuple(LeftOut.from_json(window) for window in left_out)
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged: {in_one_line(error)}; {_AGAIN}") from error

    def read(self, number: int) -> Shard:
        """A shard, once its checksums are verified."""
        self._receipt(number)
        if not self.is_whole(number):
            raise RunError(f"shard {number} of {self.folder} is missing or damaged; {_AGAIN}")
        rows = self.path(number, "parquet")
        try:
            with pq.ParquetFile(rows) as file:
                table = read_bounded(rows, file)
            return Shard(
                rows=table,
                # safetensors returns them in any order.
                arrays=dict(
                    sorted(safetensors.numpy.load_file(self.path(number, "safetensors")).items())
                ),
                left_out=self.left_out(number),
            )
        # The checksums fit, so it was written like this. Types that numpy lacks are a KeyError or
        # an AttributeError of safetensors.
        except (
            pa.ArrowException,
            SafetensorError,
            OSError,
            ValueError,
            LookupError,
            AttributeError,
            TypeError,
        ) as error:
            raise RunError(
                f"shard {number} of {self.folder} cannot be read: {in_one_line(error)}; delete its "
                "files and run the same analyze command again"
            ) from error

    def row_file(self, number: int) -> tuple[Path, str]:
        """The Parquet file of a written shard, with its SHA-256."""
        return self.path(number, "parquet"), self._receipt(number)["parquet"]

    def path(self, number: int, ending: str) -> Path:
        """Where a file of a shard is: `parquet`, `safetensors` or, for its receipt, `json`."""
        return self.folder / f"{number:05d}.{ending}"

    def _receipt(self, number: int) -> dict[str, str]:
        """The checksums of a shard, once it is shown that they belong to this run and number."""
        path = self.path(number, "json")
        if not self.is_written(number):
            raise RunError(f"shard {number} of {self.folder} is missing; {_AGAIN}")
        receipt = read_json(path, within=self._within)
        if self.run and (receipt.get("run"), receipt.get("shard")) != (self.run, number):
            raise RunError(
                f"{path} belongs to another run, or to another shard of this one; {_AGAIN}"
            )
        digests = {ending: receipt.get(ending) for ending in FILES}
        if not all(isinstance(digest, str) for digest in digests.values()):
            raise RunError(f"{path} is damaged: it has no checksums; {_AGAIN}")
        return {ending: str(digest) for ending, digest in digests.items()}

    @property
    def _within(self) -> Path:
        return self.within or self.folder.parent

    def _write(self, number: int, ending: str, content: bytes) -> str:
        return write_whole(self.path(number, ending), content, within=self._within)
