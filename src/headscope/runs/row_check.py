"""Whether the rows and sums of a shard are those that its manifest calls for.

Receipts show that files are whole; here it is shown that they fit the run: one row for every
measured window, stack, layer and head, in this order, none twice and none missing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headscope.measures.columns import ARRAYS, KEY_COLUMNS, TEXTS, column_type
from headscope.runs.manifest import Manifest
from headscope.runs.parquet_files import read_bounded


def refuse_wrong_columns(schema: pa.Schema, found: int, rows: int) -> None:
    """ValueError for a table whose columns or number of rows are not those of a shard.

    Args:
        schema: Of the table.
        found: The number of rows that it has.
        rows: The number of rows that it must have.
    """
    # A shard without a measured window has no columns but the keys.
    required = {*KEY_COLUMNS, *((TEXTS, "pairs") if rows else ())}
    if missing := required - set(schema.names):
        raise ValueError(f"it has no column {min(missing)!r}")
    if len(set(schema.names)) < len(schema.names):
        raise ValueError("it has a column twice")
    for field in schema:
        if field.type != column_type(field.name):
            raise ValueError(f"column {field.name[:40]!r} is unknown or of a wrong type")
    if found != rows:
        raise ValueError(f"it has {found} rows, not {rows}")


def refuse_wrong_row_file(path: Path, manifest: Manifest, windows: NDArray[np.int64]) -> set[str]:
    """The columns of a file of rows; ValueError if its keys are not those of a shard.

    Args:
        path: The file, once its checksum is verified.
        manifest: Of the run.
        windows: The numbers of its measured windows, in order.
    """
    with pq.ParquetFile(path) as file:
        expected = len(windows) * rows_of_window(manifest)
        refuse_wrong_columns(file.schema_arrow, file.metadata.num_rows, expected)
        keys = read_bounded(path, file, [*KEY_COLUMNS, TEXTS])
        refuse_wrong_keys(keys, manifest, windows)
        return set(file.schema_arrow.names)


def rows_of_window(manifest: Manifest) -> int:
    """Number of rows that every measured window has.

    Args:
        manifest: Of the run.
    """
    return sum(site.heads for site in manifest.model.sites)


def refuse_wrong_keys(rows: pa.Table, manifest: Manifest, windows: NDArray[np.int64]) -> None:
    """ValueError for rows of other windows, stacks, layers or heads, or in another order.

    Args:
        rows: The key columns of a shard, and `texts`.
        manifest: Of the run.
        windows: The numbers of its measured windows, in order.
    """
    # Shards list stacks by name, whatever their order in the model.
    sites = sorted(manifest.model.sites, key=lambda site: (site.stack, site.layer))
    heads = [site.heads for site in sites]
    n_windows = len(windows)
    of_head = {
        "layer": np.repeat([site.layer for site in sites], heads),
        "head": np.concatenate([np.arange(1, number + 1) for number in heads]),
    }
    for name in (*KEY_COLUMNS, TEXTS):
        if name in rows.column_names and rows[name].null_count:
            raise ValueError(f"column {name!r} has empty cells")
    if not np.array_equal(rows["text"].to_numpy(), np.repeat(windows, sum(heads))):
        raise ValueError("its rows are not those of its windows, in order")
    for name, expected in of_head.items():
        if not np.array_equal(rows[name].to_numpy(), np.tile(expected, n_windows)):
            raise ValueError(f"column {name!r} does not list the heads of the model in order")
    stacks = list(manifest.stacks)
    expected = np.repeat([stacks.index(site.stack) for site in sites], heads)
    found = pc.index_in(rows["stack"], value_set=pa.array(stacks)).fill_null(-1).to_numpy()
    if not np.array_equal(found, np.tile(expected, n_windows)):
        raise ValueError("column 'stack' does not list the stacks of the model in order")
    if TEXTS in rows.column_names and not (rows[TEXTS].to_numpy() == 1).all():
        raise ValueError(f"column {TEXTS!r} is not 1 in every row")


def refuse_no_numbers(arrays: Mapping[str, NDArray[Any]]) -> None:
    """ValueError for arrays of a study that are not in double precision, or beyond all measure.

    Args:
        arrays: Of a shard; NaN stands for no value.
    """
    for name, values in arrays.items():
        if values.dtype != np.float64:
            raise ValueError(f"{name[:60]!r} is of type {values.dtype}")
        if (np.abs(values) > _LARGEST).any():
            raise ValueError(f"{name[:60]!r} is too large")


def refuse_wrong_arrays(arrays: Mapping[str, NDArray[Any]], manifest: Manifest) -> None:
    """ValueError for sums that are unknown, not finite, or of shapes that the model does not have.

    Args:
        arrays: Of a shard that has measured windows.
        manifest: Of the run.
    """
    if not arrays:
        raise ValueError("it has no sums")
    sizes: dict[tuple[str, str], int] = {}
    for key, values in arrays.items():
        stack, _, name = key.partition("/")
        known = name in ARRAYS or (name.startswith("sweep/") and name.count("/") == 2)
        if stack not in manifest.stacks or not known:
            raise ValueError(f"{key[:60]!r} is not the name of a sum")
        # A column that a stack does not have is NaN in its sweep.
        wrong = np.isinf if name.startswith("sweep/") else lambda array: ~np.isfinite(array)
        if values.dtype.kind != "f" or wrong(values).any():
            raise ValueError(f"{key!r} is not made of finite numbers")
        _refuse_shape(key, values.shape, manifest, stack, sizes)


_LARGEST = 1e100
"""Models compute in single precision, which ends at 3e38; squares of this are still finite."""
_PACKED = ("similarity_sum", "aligned_sum")
"""Symmetric matrices, of which the upper triangle is stored as one axis."""


def _refuse_shape(
    key: str,
    shape: tuple[int, ...],
    manifest: Manifest,
    stack: str,
    sizes: dict[tuple[str, str], int],
) -> None:
    name = key.partition("/")[2]
    dims = ARRAYS.get(name) or ("layer", "head", name.split("/")[1])
    if name in _PACKED:
        dims = (*dims[:-2], "triangle")
    layers, heads = manifest.stack_shape(stack)
    settings = manifest.settings
    fixed = {
        "layer": len(layers),
        "head": heads,
        "variant": len(settings.variants),
        "pair_rule": len(settings.rules) - 1,
        "attention_threshold": len(settings.attention_thresholds) - 1,
    }
    if len(shape) != len(dims):
        raise ValueError(f"{key!r} has {len(shape)} axes, not {len(dims)}")
    for dim, size in zip(dims, shape, strict=True):
        # Positions and distances have one size throughout a stack, triangles one each.
        of_what = name if dim == "triangle" else stack
        if size != fixed.get(dim, sizes.setdefault((of_what, dim), size)):
            raise ValueError(f"{key!r} has {size} places on its axis {dim!r}")
    if name in ("position_count", "aligned_count") and shape[0] != shape[1]:
        raise ValueError(f"{key!r} is not square")
