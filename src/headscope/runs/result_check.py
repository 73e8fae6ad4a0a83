"""Whether the arrays of results.nc are those that the manifest calls for.

Its checksum comes with it, so a file made by another program can have a right one. First the layout
is checked, before anything is unpacked: which arrays there are, their axes, labels and types. Then
a few numbers that follow from others.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from headscope.measures import MEASURES
from headscope.measures.columns import ARRAYS, TEXTS, TOTAL
from headscope.measures.tables import column_totals, measure_columns
from headscope.runs.manifest import RECEIPTS_SINCE, Manifest

_HEADS = ("layer", "head")
_OFFSETS = ("offset", "other_offset")
_SWEEPS = ("pair_rule", "attention_threshold")


def refuse_wrong_layout(
    results: xr.Dataset, manifest: Manifest, stack: str, *, matrices: bool
) -> None:
    """ValueError for arrays that are missing, unknown, or have other axes, labels or types.

    Args:
        results: The arrays of a stack; they need not be in memory.
        manifest: Of the run.
        stack: One of its stacks.
        matrices: Whether arrays by position and distance must be there; runs of untrained models
            have none.
    """
    _refuse_wrong_labels(results, _labels(manifest, stack))
    names = {str(name) for name in results.data_vars}
    required = {f"{TOTAL}{TEXTS}", f"{TOTAL}pairs", *_required_arrays(matrices)}
    if missing := required - names:
        raise ValueError(f"it has no array {min(missing)!r}")
    for name in names:
        variable = results[name]
        if variable.dims != _dims(name):
            raise ValueError(f"array {name[:60]!r} has other axes than it should")
        if variable.dtype.kind != "f":
            raise ValueError(f"array {name!r} holds no decimal numbers")
    for dim, size in results.sizes.items():
        may_be_empty = ("permutation", *_SWEEPS, *(() if matrices else _OFFSETS))
        if size == 0 and dim not in may_be_empty:
            raise ValueError(f"axis {str(dim)[:40]!r} is empty")


def refuse_wrong_numbers(results: xr.Dataset, manifest: Manifest, stack: str) -> None:
    """ValueError for totals that no run has, and measures that are not those of its totals.

    Args:
        results: The arrays of a stack, in memory.
        manifest: Of the run.
        stack: One of its stacks.
    """
    totals = column_totals(results)
    sites = [site for site in manifest.model.sites if site.stack == stack]
    heads = np.arange(1, results.sizes["head"] + 1)
    there = heads <= np.array([site.heads for site in sites])[:, None]
    windows = totals[TEXTS]
    measured = windows[there]
    if not (measured == measured[0]).all() or not 0 < measured[0] <= manifest.corpus.windows:
        raise ValueError("its heads have different numbers of windows, or more than the run")
    if np.nan_to_num(windows[~there]).any():
        raise ValueError("it has windows for heads that the model does not have")
    for name, values in results.data_vars.items():
        if np.isinf(values.to_numpy()).any():
            raise ValueError(f"array {str(name)!r} is infinite somewhere")
    if manifest.schema < RECEIPTS_SINCE:
        return  # measures may have been defined otherwise
    measures = measure_columns(totals)
    for name, expected in measures.items():
        if name in results and not _equal(results[name].to_numpy(), expected):
            raise ValueError(f"{name!r} is not what its totals give")
    known = {name for each in MEASURES for name in (each.name, f"{each.name}_expected")}
    for name in sorted(known - measures.keys()):
        if name in results:
            raise ValueError(f"it has {name!r}, but not the totals that give it")


_MAY_BE_ABSENT = {"similarity_by_distance", "within_by_distance", "repetition_permuted"}
"""Arrays that not every kind or version of run has."""


def _required_arrays(matrices: bool) -> set[str]:
    required = set(ARRAYS) - _MAY_BE_ABSENT
    if matrices:
        return required
    return {name for name in required if not {"position", "offset", "distance"} & {*ARRAYS[name]}}


def _labels(manifest: Manifest, stack: str) -> Mapping[str, list[object]]:
    layers, heads = manifest.stack_shape(stack)
    settings = manifest.settings
    return {
        "layer": list(layers),
        "head": list(range(1, heads + 1)),
        "variant": list(settings.variants),
        "pair_rule": [str(rule) for rule in settings.rules[1:]],
        "attention_threshold": list(settings.attention_thresholds[1:]),
    }


def _refuse_wrong_labels(results: xr.Dataset, labels: Mapping[str, list[object]]) -> None:
    for dim, expected in labels.items():
        if dim not in results.coords or results[dim].dims != (dim,):
            raise ValueError(f"axis {dim!r} has no labels")
        if results.sizes[dim] != len(expected) or results[dim].to_numpy().tolist() != expected:
            raise ValueError(f"axis {dim!r} has other labels than the manifest")
    for dim in _OFFSETS:
        half = results.sizes.get(dim, 0) // 2
        found = results[dim].to_numpy().tolist() if dim in results.coords else None
        if found != list(range(-half, half)):
            raise ValueError(f"axis {dim!r} is not counted from its middle")
    if unknown := {str(name) for name in results.coords} - {*labels, *_OFFSETS}:
        raise ValueError(f"it has unknown labels: {min(unknown)[:60]!r}")
    for dim, other in (("position", "other_position"), ("offset", "other_offset")):
        if results.sizes.get(dim) != results.sizes.get(other):
            raise ValueError(f"axes {dim!r} and {other!r} differ in length")


def _dims(name: str) -> tuple[str, ...]:
    """The axes of an array by its name.

    An unknown name may be that of a measure that other code had added.
    """
    if name in ARRAYS:
        return ARRAYS[name]
    swept = [axis for axis in _SWEEPS if name.endswith(f"_by_{axis}")]
    return (*_HEADS, *swept)


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=0, equal_nan=True))
