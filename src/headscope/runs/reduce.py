"""The reduced result of a run: every shard added up, in the order of their numbers.

Float addition is not associative, so the order is fixed: results are bit-identical whatever the
order in which shards were made, by however many workers, with whatever crashes in between.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import xarray as xr
from numpy.typing import NDArray

from headscope.runs.columns import KEY_COLUMNS, UNSUMMED_COLUMNS
from headscope.runs.manifest import Manifest
from headscope.runs.shards import Shard
from headscope.runs.triangle import mirrored, unpack_triangle

TOTAL = "total_"
"""Prefix of column sums: `total_pairs` is the sum of column `pairs`."""

DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "similarity_sum": ("layer", "head", "variant", "position", "other_position"),
    "position_count": ("position", "other_position"),
    "aligned_sum": ("layer", "head", "offset", "other_offset"),
    "aligned_count": ("offset", "other_offset"),
    "similarity_by_distance": ("layer", "head", "distance"),
    "within_by_distance": ("layer", "head", "distance"),
    "distance_histogram": ("layer", "head", "distance"),
    "distance_baseline": ("distance",),
    "within_baseline": ("distance",),
    "element_kinds": ("layer", "head", "kind"),
    "focal_kinds": ("layer", "head", "kind"),
    "token_kinds": ("kind",),
    "same_sentence_permuted": ("layer", "head", "permutation"),
    "repetition_permuted": ("layer", "head", "permutation"),
    "distinct_focal_tokens": ("layer", "distinct"),
}
"""The dimensions of the summed arrays; those of a sweep are layer, head and the threshold."""

_Arrays = dict[str, NDArray[np.float64]]


def reduce_shards(manifest: Manifest, shards: Iterable[Shard]) -> dict[str, xr.Dataset]:
    """For each stack, the sums over all texts: arrays, and `total_COLUMN` per layer and head."""
    sums: _Arrays = {}
    for shard in shards:
        _add(sums, shard.arrays)
        _add(sums, _column_totals(manifest, shard.rows))
    return {stack: _dataset(manifest, stack, sums) for stack in manifest.stacks}


def _add(sums: _Arrays, more: Mapping[str, NDArray[Any]]) -> None:
    for name, values in more.items():
        if name in sums:
            sums[name] += values
        else:
            sums[name] = values.astype(np.float64)


def _column_totals(manifest: Manifest, rows: pa.Table) -> _Arrays:
    if not rows.num_rows:
        return {}  # every text of the shard was left out
    stack_of_row = np.asarray(rows["stack"].to_numpy(zero_copy_only=False))
    layer, head = rows["layer"].to_numpy(), rows["head"].to_numpy()
    columns = [c for c in rows.column_names if c not in (*KEY_COLUMNS, *UNSUMMED_COLUMNS)]
    totals: _Arrays = {}
    for stack in manifest.stacks:
        layers, heads = stack_shape(manifest, stack)
        mine = np.flatnonzero(stack_of_row == stack)
        cell = np.searchsorted(layers, layer[mine]) * heads + (head[mine] - 1)
        for column in columns:
            values = rows[column].to_numpy()[mine].astype(np.float64)
            summed: NDArray[np.float64] = np.bincount(
                cell, weights=values, minlength=len(layers) * heads
            ).astype(np.float64)
            totals[f"{stack}/{TOTAL}{column}"] = summed.reshape(len(layers), heads)
        totals[f"{stack}/distinct_focal_tokens"] = _distinct_counts(
            np.searchsorted(layers, layer[mine]),
            rows["text"].to_numpy()[mine],
            rows["focal_exclusiveness"].to_numpy()[mine],
            (len(layers), heads),
        )
    return totals


def _distinct_counts(
    layer: NDArray[np.int64],
    text: NDArray[np.int64],
    exclusiveness: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    """In how many texts a layer has 0, 1, 2, ... distinct focal tokens."""
    layers, heads = shape
    present, place = np.unique(text, return_inverse=True)
    texts = len(present)
    per_text = np.bincount(layer * texts + place, weights=exclusiveness, minlength=layers * texts)
    distinct = np.rint(per_text).astype(np.int64).reshape(layers, texts)
    return np.stack([np.bincount(row, minlength=heads + 1) for row in distinct]).astype(np.float64)


def stack_shape(manifest: Manifest, stack: str) -> tuple[list[int], int]:
    """The layer numbers of a stack, and the number of heads of its widest layer."""
    sites = [site for site in manifest.model.sites if site.stack == stack]
    return [site.layer for site in sites], max(site.heads for site in sites)


def _whole(name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kernels fill the upper triangle of what is symmetric."""
    if name in ("similarity_sum", "aligned_sum"):
        return unpack_triangle(values)
    if name in ("position_count", "aligned_count"):
        return mirrored(values)
    return values


def _dataset(manifest: Manifest, stack: str, sums: _Arrays) -> xr.Dataset:
    layers, heads = stack_shape(manifest, stack)
    settings = manifest.settings
    variables: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}
    for key, values in sums.items():
        of_stack, _, name = key.partition("/")
        if of_stack != stack:
            continue
        if name.startswith(TOTAL):
            variables[name] = (("layer", "head"), values)
        elif name.startswith("sweep/"):
            _, axis, column = name.split("/")
            variables[f"{column}_by_{axis}"] = (("layer", "head", axis), values)
        else:
            variables[name] = (DIMENSIONS[name], _whole(name, values))
    half = variables["aligned_count"][1].shape[0] // 2
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
