"""Shards: the numbered pieces of a run's result, each written once, whole, with a checksum.

A shard is three files: rows (`00000.parquet`), summed arrays (`00000.safetensors`), and a receipt
(`00000.json`) with the SHA-256 of both and the windows that were left out. The receipt is written
last: a shard counts when its receipt is there and its files are those that the receipt names.

Sums of symmetric matrices are stored as upper triangles in single precision, since summed
similarity is most of a shard; shards are added up in double precision.
"""

import io
import json
from collections.abc import Mapping, Sequence
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
from headscope.runs.files import is_unchanged, read_json, write_whole
from headscope.runs.left_out import LeftOut


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
            "parquet": write_whole(self._path(number, "parquet"), buffer.getvalue()),
            "safetensors": write_whole(self._path(number, "safetensors"), arrays),
            "left_out": [asdict(window) for window in shard.left_out],
        }
        write_whole(self._path(number, "json"), json.dumps(receipt, indent=1).encode())

    def is_whole(self, number: int) -> bool:
        """Whether a shard is there, and undamaged. A damaged one is measured again."""
        try:
            receipt = read_json(self._path(number, "json"))
            self.left_out(number)
            return all(
                is_unchanged(self._path(number, ending), str(receipt[ending])) for ending in FILES
            )
        except (KeyError, RunError):
            return False

    def is_written(self, number: int) -> bool:
        """Whether a shard has its receipt; its files are not read."""
        return self._path(number, "json").exists()

    def left_out(self, number: int) -> tuple[LeftOut, ...]:
        """The windows of a written shard that could not be measured, by its receipt."""
        path = self._path(number, "json")
        try:
            # Receipts of schema 1 have no such list.
            left_out = read_json(path).get("left_out", [])
            return tuple(LeftOut.from_json(window) for window in left_out)
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path} is damaged: {in_one_line(error)}; {_AGAIN}") from error

    def read(self, number: int) -> Shard:
        """A shard, once its checksums are verified."""
        if not self.is_whole(number):
            raise RunError(f"shard {number} of {self.folder} is missing or damaged; {_AGAIN}")
        try:
            return Shard(
                rows=pq.read_table(self._path(number, "parquet")),
                # safetensors returns them in any order.
                arrays=dict(
                    sorted(safetensors.numpy.load_file(self._path(number, "safetensors")).items())
                ),
                left_out=self.left_out(number),
            )
        # The checksums fit, so it was written like this.
        except (pa.ArrowException, SafetensorError, OSError, ValueError) as error:
            raise RunError(
                f"shard {number} of {self.folder} cannot be read: {in_one_line(error)}; delete its "
                "files and run the same analyze command again"
            ) from error

    def row_files(self, shard_texts: Sequence[int]) -> dict[Path, str]:
        """The Parquet files of the shards that are there and have rows, with their SHA-256."""
        return {
            self._path(number, "parquet"): str(read_json(self._path(number, "json")).get("parquet"))
            for number, windows in enumerate(shard_texts)
            if self.is_written(number) and len(self.left_out(number)) < windows
        }

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:05d}.{suffix}"
