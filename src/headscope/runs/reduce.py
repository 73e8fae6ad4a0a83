"""The reduced result of a run: every shard added up, in the order of their numbers.

Float addition is not associative, so the order is fixed: results are bit-identical whatever the
order in which shards were made, by however many workers, with whatever crashes in between.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import xarray as xr
from numpy.typing import NDArray

from headscope.runs.manifest import Manifest
from headscope.runs.shards import Shard

KEY_COLUMNS = ("text", "stack", "layer", "head")
"""What a row is about; every other column is a number that may be summed."""

UNSUMMED_COLUMNS = ("focal_token",)
"""Identities, which no sum makes sense of."""

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "similarity_sum": ("layer", "head", "position", "other_position"),
    "position_count": ("position", "other_position"),
    "distance_histogram": ("layer", "head", "distance"),
    "distance_baseline": ("distance",),
}
"""The dimensions of the summed arrays."""


def reduce_shards(manifest: Manifest, shards: Iterable[Shard]) -> dict[str, xr.Dataset]:
    """For each stack, the sums over all texts: arrays, and `total_COLUMN` per layer and head."""
    arrays: dict[str, NDArray[np.float64]] = {}
    totals: dict[str, NDArray[np.float64]] = {}
    for shard in shards:
        _add(arrays, shard.arrays)
        _add(totals, _column_totals(manifest, shard.rows))
    return {stack: _dataset(manifest, stack, arrays, totals) for stack in manifest.stacks}


def _add(sums: dict[str, NDArray[np.float64]], more: Mapping[str, NDArray[np.float64]]) -> None:
    for name, values in more.items():
        sums[name] = sums[name] + values if name in sums else values.astype(np.float64)


def _column_totals(manifest: Manifest, rows: pa.Table) -> dict[str, NDArray[np.float64]]:
    stack_of_row = np.asarray(rows["stack"].cast(pa.string()).to_numpy(zero_copy_only=False))
    layer, head = rows["layer"].to_numpy(), rows["head"].to_numpy()
    columns = [c for c in rows.column_names if c not in (*KEY_COLUMNS, *UNSUMMED_COLUMNS)]
    totals: dict[str, NDArray[np.float64]] = {}
    for stack in manifest.stacks:
        layers, heads = stack_shape(manifest, stack)
        mine = np.flatnonzero(stack_of_row == stack)
        cell = np.searchsorted(layers, layer[mine]) * heads + (head[mine] - 1)
        for column in columns:
            values = rows[column].to_numpy()[mine]
            summed = np.bincount(cell, weights=values, minlength=len(layers) * heads)
            totals[f"{stack}/total_{column}"] = summed.astype(np.float64).reshape(
                len(layers), heads
            )
    return totals


def stack_shape(manifest: Manifest, stack: str) -> tuple[list[int], int]:
    """The layer numbers of a stack, and the number of heads of its widest layer."""
    sites = [site for site in manifest.model.sites if site.stack == stack]
    return [site.layer for site in sites], max(site.heads for site in sites)


def _dataset(
    manifest: Manifest,
    stack: str,
    arrays: Mapping[str, NDArray[np.float64]],
    totals: Mapping[str, NDArray[np.float64]],
) -> xr.Dataset:
    layers, heads = stack_shape(manifest, stack)
    variables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    for key, values in arrays.items():
        of_stack, _, name = key.partition("/")
        if of_stack == stack:
            variables[name] = (DIMENSIONS[name], values)
    for key, values in totals.items():
        of_stack, _, name = key.partition("/")
        if of_stack == stack:
            variables[name] = (("layer", "head"), values)
    return xr.Dataset(
        variables,
        coords={"layer": layers, "head": np.arange(1, heads + 1)},
        attrs={"stack": stack},
    )
