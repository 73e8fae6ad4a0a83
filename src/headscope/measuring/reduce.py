"""The reduced result of a run: every shard added up, in the order of their numbers.

Float addition is not associative, so the order is fixed: results are the same bit for bit, no
matter in which order shards were made, by how many workers, and after how many crashes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import MeasurementError, RunError, in_one_line, option
from headscope.measures.columns import ARRAYS, COLUMNS, TOTAL
from headscope.measures.tables import add_measures
from headscope.runs.folder import RunFolder
from headscope.runs.manifest import Manifest
from headscope.runs.results import write_results
from headscope.runs.shards import Shard, mirrored, unpack_triangle

_Arrays = dict[str, NDArray[np.float64]]


def reduce_run(run: RunFolder) -> None:
    """Add up the shards of a run, and write results.nc.

    Args:
        run: All its shards are there.
    """
    left_out = run.left_out
    if len(left_out) == run.manifest.corpus.windows:
        raise MeasurementError(
            f"no window of the run can be measured ({left_out[0]}); try "
            f"{option('dtype', 'float32')}, a shorter {option('window')}, or another model"
        )
    shards = (run.read_shard(number) for number in range(run.manifest.shards))
    try:
        results = reduce_shards(run.manifest, shards)
    # Checksums were right, but names or shapes are not those of this manifest.
    except (LookupError, ValueError) as error:
        raise RunError(
            f"the shards of {run.path} do not fit its manifest: {in_one_line(error)}; "
            f"analyse the corpus again with another {option('out')}"
        ) from error
    measured = {stack: add_measures(dataset) for stack, dataset in results.items()}
    write_results(run.path, run.manifest, measured, run.within)


def reduce_shards(manifest: Manifest, shards: Iterable[Shard]) -> dict[str, xr.Dataset]:
    """For each stack, the sums over all windows: arrays, and `total_COLUMN` per layer and head.

    Args:
        manifest: Of the run.
        shards: In the order of their numbers.
    """
    sums: _Arrays = {}
    for shard in shards:
        if not shard.rows.num_rows:
            continue  # every window of the shard was left out
        of_shard = {**shard.arrays, **_column_totals(manifest, shard.rows)}
        # A sum that one shard lacks would be over fewer windows than the others.
        if sums and set(sums) != set(of_shard):
            raise ValueError(f"{min(set(sums) ^ set(of_shard))[:60]!r} is not in every shard")
        _add(sums, of_shard)
    return {stack: _dataset(manifest, stack, sums) for stack in manifest.stacks}


def _add(sums: _Arrays, more: Mapping[str, NDArray[Any]]) -> None:
    for name, values in more.items():
        if name in sums:
            sums[name] += values
        else:
            sums[name] = values.astype(np.float64)


def _column_totals(manifest: Manifest, rows: pa.Table) -> _Arrays:
    stack_of_row = np.asarray(rows["stack"].to_numpy(zero_copy_only=False))
    layer, head = rows["layer"].to_numpy(), rows["head"].to_numpy()
    columns = [name for name in rows.column_names if COLUMNS[name].summed]
    totals: _Arrays = {}
    for stack in manifest.stacks:
        layers, heads = manifest.stack_shape(stack)
        of_stack = np.flatnonzero(stack_of_row == stack)
        cell = np.searchsorted(layers, layer[of_stack]) * heads + (head[of_stack] - 1)
        for column in columns:
            values = rows[column].to_numpy()[of_stack].astype(np.float64)
            summed: NDArray[np.float64] = np.bincount(
                cell, weights=values, minlength=len(layers) * heads
            ).astype(np.float64)
            totals[f"{stack}/{TOTAL}{column}"] = summed.reshape(len(layers), heads)
        totals[f"{stack}/distinct_focal_tokens"] = _distinct_counts(
            np.searchsorted(layers, layer[of_stack]),
            rows["text"].to_numpy()[of_stack],
            rows["focal_exclusiveness"].to_numpy()[of_stack],
            (len(layers), heads),
        )
    return totals


def _distinct_counts(
    layer: NDArray[np.int64],
    window: NDArray[np.int64],
    exclusiveness: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """Number of windows in which a layer has 0, 1, 2, ... distinct focal tokens."""
    layers, heads = shape
    present, place = np.unique(window, return_inverse=True)
    n_windows = len(present)
    cell, cells = layer * n_windows + place, layers * n_windows
    per_window = np.bincount(cell, weights=exclusiveness, minlength=cells)
    distinct = np.rint(per_window).astype(np.int64).reshape(layers, n_windows)
    return np.stack([np.bincount(row, minlength=heads + 1) for row in distinct]).astype(np.float64)


def _whole(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The whole of a symmetric array, of which kernels fill only the upper triangle."""
    if name in ("similarity_sum", "aligned_sum"):
        return unpack_triangle(values)
    if name in ("position_count", "aligned_count"):
        return mirrored(values)
    return values


def _dataset(manifest: Manifest, stack: str, sums: _Arrays) -> xr.Dataset:
    layers, heads = manifest.stack_shape(stack)
    settings = manifest.settings
    variables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    for key, values in sums.items():
        key_stack, _, name = key.partition("/")
        if key_stack != stack:
            continue
        if name.startswith(TOTAL):
            variables[name] = (("layer", "head"), values)
        elif name.startswith("sweep/"):
            _, axis, column = name.split("/")
            variables[f"{column}_by_{axis}"] = (("layer", "head", axis), values)
        else:
            variables[name] = (ARRAYS[name], _whole(name, values))
    # Runs of untrained models have no matrices.
    half = variables["aligned_count"][1].shape[0] // 2 if "aligned_count" in variables else 0
    return xr.Dataset(
        variables,
        coords={
            "layer": layers,
            "head": np.arange(1, heads + 1),
            "variant": settings.variants,
            "pair_rule": [str(rule) for rule in settings.rules[1:]],
            "attention_threshold": settings.attention_thresholds[1:],
            "offset": np.arange(-half, half),
            "other_offset": np.arange(-half, half),
        },
        attrs={"stack": stack},
    )
