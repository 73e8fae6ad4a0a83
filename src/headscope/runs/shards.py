"""Shards: the numbered pieces of a run's result, each written once, whole, with a checksum.

A shard is three files: rows (`00000.parquet`), summed arrays (`00000.safetensors`), and a receipt
(`00000.json`) with the SHA-256 of both. The receipt is written last: a shard counts when its
receipt is there and its files are those that the receipt names.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.runs.files import sha256_of, write_whole


@dataclass(frozen=True)
class Shard:
    """What one shard holds."""

    rows: pa.Table
    """A row per text, stack, layer and head."""
    arrays: Mapping[str, NDArray[Any]]
    """Summed arrays by `stack/name`, of shape (layer, head, ...) or, for texts alone, (...)."""


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
        }
        write_whole(self._path(number, "json"), json.dumps(receipt, indent=1).encode())

    def is_whole(self, number: int) -> bool:
        """Whether a shard is there, and undamaged. A damaged one is done again."""
        try:
            receipt = json.loads(self._path(number, "json").read_text())
            return all(
                sha256_of(self._path(number, kind)) == receipt[kind]
                for kind in ("parquet", "safetensors")
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def is_written(self, number: int) -> bool:
        """Whether a shard has its receipt; its files are not read."""
        return self._path(number, "json").exists()

    def read(self, number: int) -> Shard:
        """A shard, after its checksums were checked."""
        if not self.is_whole(number):
            raise RunError(
                f"shard {number} of {self.folder} is missing or damaged; "
                "run the same analyze command again to do it anew"
            )
        return Shard(
            rows=pq.read_table(self._path(number, "parquet")),
            arrays=safetensors.numpy.load_file(self._path(number, "safetensors")),
        )

    def row_files(self, shards: int) -> list[str]:
        """The Parquet files of the shards that are there, in order."""
        return [
            str(self._path(number, "parquet"))
            for number in range(shards)
            if self.is_written(number)
        ]

    def _path(self, number: int, suffix: str) -> Path:
        return self.folder / f"{number:05d}.{suffix}"
